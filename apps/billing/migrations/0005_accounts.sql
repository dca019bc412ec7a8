CREATE TABLE "gas" (
	"network" text NOT NULL,
	"transaction" text NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" text NOT NULL,
	"entry" integer NOT NULL,
	"signer" text NOT NULL,
	"gas_used" numeric(78, 0) NOT NULL,
	"fee" numeric(78, 0) NOT NULL,
	"succeeded" boolean NOT NULL,
	"payment_id" text,
	"recorded_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "gas_network_transaction_block_hash_entry_pk" PRIMARY KEY("network","transaction","block_hash","entry")
);
--> statement-breakpoint
CREATE TABLE "postings" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "postings_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (3) with time zone NOT NULL,
	"payment_id" text,
	"network" text NOT NULL,
	"asset" text NOT NULL,
	"account" text NOT NULL,
	"amount" numeric(78, 0) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "reconciled_blocks" (
	"network" text PRIMARY KEY NOT NULL,
	"block_number" bigint NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "transfers" (
	"network" text NOT NULL,
	"transaction" text NOT NULL,
	"log_index" integer NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" text NOT NULL,
	"entry" integer NOT NULL,
	"asset" text NOT NULL,
	"payer" text NOT NULL,
	"pay_to" text NOT NULL,
	"amount" numeric(78, 0) NOT NULL,
	"payment_id" text NOT NULL,
	"recorded_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "transfers_network_transaction_log_index_block_hash_entry_pk" PRIMARY KEY("network","transaction","log_index","block_hash","entry")
);
--> statement-breakpoint
ALTER TABLE "gas" ADD CONSTRAINT "gas_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "postings" ADD CONSTRAINT "postings_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transfers" ADD CONSTRAINT "transfers_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "gas_by_payment" ON "gas" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "gas_by_signer" ON "gas" USING btree ("network","signer","recorded_at");--> statement-breakpoint
CREATE INDEX "postings_by_account" ON "postings" USING btree ("network","asset","account");--> statement-breakpoint
CREATE INDEX "transfers_by_payment" ON "transfers" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "transfers_by_block" ON "transfers" USING btree ("network","block_number");
--> statement-breakpoint
-- What was recorded stays.
CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
--> statement-breakpoint
-- Where a payment's money stands, by its state: amounts that sum to zero. `promised` is the payer's side of it.
CREATE OR REPLACE FUNCTION payment_accounts(of_state text, of_maximum numeric, of_charge numeric)
RETURNS TABLE (account text, amount numeric) LANGUAGE sql IMMUTABLE AS $$
  SELECT 'promised', -held FROM (SELECT CASE
      WHEN of_state = 'authorized' THEN of_maximum
      WHEN of_state IN ('charging', 'submitted', 'settled', 'failed') THEN of_charge
    END AS held) AS open WHERE held IS NOT NULL
  UNION ALL
  SELECT CASE of_state
      WHEN 'authorized' THEN 'reserved'
      WHEN 'settled' THEN 'received'
      WHEN 'failed' THEN 'written off'
      ELSE 'receivable'
    END, CASE of_state WHEN 'authorized' THEN of_maximum ELSE of_charge END
  WHERE of_state IN ('authorized', 'charging', 'submitted', 'settled', 'failed')
$$;
--> statement-breakpoint
-- Posts what a change of state moves between accounts: what it is afterwards less what it was before.
CREATE OR REPLACE FUNCTION payments_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO postings (at, payment_id, network, asset, account, amount)
    SELECT NEW.updated_at, NEW.id, NEW.network, NEW.asset, moved.account, sum(moved.amount)
    FROM (
      SELECT account, amount FROM payment_accounts(NEW.state, NEW.maximum, NEW.charge)
      UNION ALL
      SELECT account, -amount FROM payment_accounts(CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.maximum, NEW.charge)
    ) AS moved
    GROUP BY moved.account HAVING sum(moved.amount) <> 0;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- A transfer of a payment that has failed, such as one of another amount, was received all the same.
CREATE OR REPLACE FUNCTION transfers_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT state FROM payments WHERE id = NEW.payment_id) = 'failed' THEN
    INSERT INTO postings (at, payment_id, network, asset, account, amount) VALUES
      (NEW.recorded_at, NEW.payment_id, NEW.network, NEW.asset, 'received', NEW.amount),
      (NEW.recorded_at, NEW.payment_id, NEW.network, NEW.asset, 'written off', -NEW.amount);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- What a transaction cost leaves its signer.
CREATE OR REPLACE FUNCTION gas_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO postings (at, payment_id, network, asset, account, amount) VALUES
    (NEW.recorded_at, NEW.payment_id, NEW.network, 'native', 'signer ' || NEW.signer, -NEW.fee),
    (NEW.recorded_at, NEW.payment_id, NEW.network, 'native', 'gas', NEW.fee);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "transfers"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
CREATE TRIGGER gas_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "gas"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
CREATE TRIGGER postings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "postings"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
-- What was there before: one transfer and one transaction of gas for each payment that had them.
INSERT INTO transfers SELECT network, transaction, -1, block_number, block_hash, 1, asset, payer, pay_to, charge, id, finished_at
  FROM payments WHERE state = 'settled' AND transaction IS NOT NULL AND block_hash IS NOT NULL;
--> statement-breakpoint
INSERT INTO gas SELECT network, transaction, coalesce(block_number, 0), coalesce(block_hash, ''), 1, facilitator, gas_used, fee_paid,
  state <> 'failed', id, updated_at
  FROM payments WHERE transaction IS NOT NULL AND gas_used IS NOT NULL AND fee_paid IS NOT NULL;
--> statement-breakpoint
INSERT INTO postings (at, payment_id, network, asset, account, amount)
  SELECT updated_at, id, network, asset, held.account, held.amount
  FROM payments, payment_accounts(state, maximum, charge) AS held WHERE held.amount <> 0;
--> statement-breakpoint
INSERT INTO postings (at, payment_id, network, asset, account, amount)
  SELECT recorded_at, payment_id, network, 'native', side.account, side.amount
  FROM gas, LATERAL (VALUES ('signer ' || signer, -fee), ('gas', fee)) AS side (account, amount);
--> statement-breakpoint
CREATE TRIGGER payments_post AFTER INSERT OR UPDATE ON "payments" FOR EACH ROW EXECUTE FUNCTION payments_post();
--> statement-breakpoint
CREATE TRIGGER transfers_post AFTER INSERT ON "transfers" FOR EACH ROW EXECUTE FUNCTION transfers_post();
--> statement-breakpoint
CREATE TRIGGER gas_post AFTER INSERT ON "gas" FOR EACH ROW EXECUTE FUNCTION gas_post();
