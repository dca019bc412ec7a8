CREATE TABLE "gas" (
	"network" text NOT NULL,
	"transaction" text NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" text NOT NULL,
	"item" integer DEFAULT 0 NOT NULL,
	"entry" integer NOT NULL,
	"signer" text NOT NULL,
	"gas_used" numeric(78, 0) NOT NULL,
	"fee" numeric(78, 0) NOT NULL,
	"succeeded" boolean NOT NULL,
	"payment_id" text,
	"recorded_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "gas_network_transaction_block_hash_item_entry_pk" PRIMARY KEY("network","transaction","block_hash","item","entry")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"key" text PRIMARY KEY NOT NULL,
	"operation" text NOT NULL,
	"input_hash" text NOT NULL,
	"payment_id" text,
	"refusal" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payment_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "payment_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"payment_id" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"kind" text NOT NULL,
	"from_state" text,
	"to_state" text NOT NULL,
	"reason" text,
	"data" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payments" (
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "payments_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"seller" text,
	"state" text NOT NULL,
	"kind" text NOT NULL,
	"network" text NOT NULL,
	"asset" text NOT NULL,
	"payer" text NOT NULL,
	"pay_to" text NOT NULL,
	"facilitator" text NOT NULL,
	"nonce" numeric(78, 0) NOT NULL,
	"maximum" numeric(78, 0) NOT NULL,
	"valid_after" numeric(78, 0) NOT NULL,
	"deadline" numeric(78, 0) NOT NULL,
	"signature" text NOT NULL,
	"permit_deadline" numeric(78, 0),
	"permit_signature" text,
	"sponsored_gas" numeric(78, 0),
	"settlement_gas" bigint NOT NULL,
	"charge" numeric(78, 0),
	"route" text,
	"reason" text,
	"authorized_block" bigint NOT NULL,
	"transaction" text,
	"block_number" bigint,
	"block_hash" text,
	"gas_used" numeric(78, 0),
	"fee_paid" numeric(78, 0),
	"created_at" timestamp (3) with time zone NOT NULL,
	"charged_at" timestamp (3) with time zone,
	"submitted_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"judged_block" bigint,
	"taken_back_at" timestamp (3) with time zone,
	"next_look" timestamp with time zone,
	"doubtful_from" bigint,
	"doubt" text,
	"settle_answer" text,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "payments_sequence_unique" UNIQUE("sequence"),
	CONSTRAINT "payments_authorization_used_once" UNIQUE("network","payer","nonce")
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
CREATE TABLE "refused_payers" (
	"network" text NOT NULL,
	"payer" text NOT NULL,
	"payments" integer NOT NULL,
	"gas_used" numeric(78, 0) NOT NULL,
	"refused_at" timestamp (3) with time zone NOT NULL,
	"refused_until" timestamp (3) with time zone,
	CONSTRAINT "refused_payers_network_payer_pk" PRIMARY KEY("network","payer")
);
--> statement-breakpoint
CREATE TABLE "seller_accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"token_hash" text NOT NULL,
	"recipients" jsonb NOT NULL,
	"minimum" numeric(78, 0) NOT NULL,
	"per_minute" integer NOT NULL,
	"daily_gas" numeric(78, 0),
	"created_at" timestamp (3) with time zone NOT NULL,
	"retired_at" timestamp (3) with time zone,
	CONSTRAINT "seller_accounts_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "settlement_items" (
	"hash" text NOT NULL,
	"item" integer NOT NULL,
	"payment_id" text NOT NULL,
	CONSTRAINT "settlement_items_hash_item_pk" PRIMARY KEY("hash","item")
);
--> statement-breakpoint
CREATE TABLE "signed_transactions" (
	"hash" text PRIMARY KEY NOT NULL,
	"network" text NOT NULL,
	"signer" text NOT NULL,
	"nonce" bigint NOT NULL,
	"raw" text NOT NULL,
	"gas" bigint NOT NULL,
	"max_fee_per_gas" numeric(78, 0) NOT NULL,
	"max_priority_fee_per_gas" numeric(78, 0) NOT NULL,
	"status" text NOT NULL,
	"signed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signers" (
	"network" text NOT NULL,
	"address" text NOT NULL,
	"next_nonce" bigint NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "signers_network_address_pk" PRIMARY KEY("network","address")
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
ALTER TABLE "payment_events" ADD CONSTRAINT "payment_events_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_seller_seller_accounts_id_fk" FOREIGN KEY ("seller") REFERENCES "public"."seller_accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "postings" ADD CONSTRAINT "postings_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settlement_items" ADD CONSTRAINT "settlement_items_hash_signed_transactions_hash_fk" FOREIGN KEY ("hash") REFERENCES "public"."signed_transactions"("hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "settlement_items" ADD CONSTRAINT "settlement_items_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transfers" ADD CONSTRAINT "transfers_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "gas_by_payment" ON "gas" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "gas_by_signer" ON "gas" USING btree ("network","signer","recorded_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "payment_events_by_payment" ON "payment_events" USING btree ("payment_id","id");--> statement-breakpoint
CREATE INDEX "payments_not_final" ON "payments" USING btree ("deadline") WHERE "payments"."state" in ('authorized', 'charging', 'submitted');--> statement-breakpoint
CREATE INDEX "payments_open_by_payer" ON "payments" USING btree ("network","payer","asset") WHERE "payments"."state" in ('authorized', 'charging', 'submitted');--> statement-breakpoint
CREATE INDEX "payments_settled_by_payer" ON "payments" USING btree ("network","payer","asset","block_number");--> statement-breakpoint
CREATE INDEX "payments_mined_by_block" ON "payments" USING btree ("network","block_number") WHERE "payments"."state" in ('submitted', 'settled');--> statement-breakpoint
CREATE INDEX "payments_to_submit" ON "payments" USING btree ("network","facilitator","deadline","next_look") WHERE "payments"."state" = 'charging';--> statement-breakpoint
CREATE INDEX "payments_submitted" ON "payments" USING btree ("network","facilitator","next_look") WHERE "payments"."state" = 'submitted';--> statement-breakpoint
CREATE INDEX "payments_sponsored" ON "payments" USING btree ("network","payer","asset","created_at") WHERE "payments"."sponsored_gas" is not null;--> statement-breakpoint
CREATE INDEX "payments_by_route" ON "payments" USING btree ("route","created_at");--> statement-breakpoint
CREATE INDEX "payments_by_seller" ON "payments" USING btree ("seller","created_at") WHERE "payments"."seller" is not null;--> statement-breakpoint
CREATE INDEX "postings_by_account" ON "postings" USING btree ("network","asset","account");--> statement-breakpoint
CREATE INDEX "settlement_items_by_payment" ON "settlement_items" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "signed_transactions_open" ON "signed_transactions" USING btree ("network","signer","nonce") WHERE "signed_transactions"."status" = 'open';--> statement-breakpoint
CREATE INDEX "transfers_by_payment" ON "transfers" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "transfers_by_block" ON "transfers" USING btree ("network","block_number");--> statement-breakpoint
CREATE TABLE "withheld_answers" (
	"payment_id" text PRIMARY KEY NOT NULL,
	"answer" text NOT NULL,
	"kept_until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "withheld_answers" ADD CONSTRAINT "withheld_answers_payment_id_payments_id_fk" FOREIGN KEY ("payment_id") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "withheld_answers_by_end" ON "withheld_answers" USING btree ("kept_until");--> statement-breakpoint
CREATE TABLE "discovered_resources" (
	"resource" text NOT NULL,
	"operation" text NOT NULL,
	"seller" text,
	"type" text NOT NULL,
	"about" jsonb NOT NULL,
	"accepts" jsonb NOT NULL,
	"bazaar" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "discovered_resources_resource_operation_pk" PRIMARY KEY("resource","operation")
);
--> statement-breakpoint
ALTER TABLE "seller_accounts" ADD COLUMN "origins" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "discovered_resources" ADD CONSTRAINT "discovered_resources_seller_seller_accounts_id_fk" FOREIGN KEY ("seller") REFERENCES "public"."seller_accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "discovered_resources_by_seller" ON "discovered_resources" USING btree ("seller");
--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_state_known" CHECK ("state" in
  ('authorized', 'charging', 'submitted', 'settled', 'failed', 'zero', 'released', 'expired'));
--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_charge_at_most_maximum" CHECK ("charge" IS NULL OR ("charge" >= 0 AND "charge" <= "maximum"));
--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_charged_states_have_a_charge" CHECK (
  CASE
    WHEN "state" in ('charging', 'submitted', 'settled') THEN "charge" > 0 AND "charge" IS NOT NULL
    WHEN "state" = 'zero' THEN "charge" = 0 AND "charge" IS NOT NULL
    WHEN "state" in ('authorized', 'released', 'expired') THEN "charge" IS NULL
    ELSE true
  END);
--> statement-breakpoint
CREATE TRIGGER payments_guard BEFORE UPDATE OR DELETE ON "payments" FOR EACH ROW EXECUTE FUNCTION payments_guard();
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER payments_need_an_event AFTER INSERT OR UPDATE ON "payments"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payments_need_an_event();
--> statement-breakpoint
CREATE TRIGGER payments_notify AFTER UPDATE OF "state" ON "payments" FOR EACH ROW
  WHEN ((OLD.state, OLD.block_number, OLD.doubt) IS DISTINCT FROM (NEW.state, NEW.block_number, NEW.doubt)) EXECUTE FUNCTION payments_notify();
--> statement-breakpoint
CREATE TRIGGER payments_post AFTER INSERT OR UPDATE OF "state" ON "payments" FOR EACH ROW EXECUTE FUNCTION payments_post();
--> statement-breakpoint
CREATE TRIGGER transfers_post AFTER INSERT ON "transfers" FOR EACH ROW EXECUTE FUNCTION transfers_post();
--> statement-breakpoint
CREATE TRIGGER gas_post AFTER INSERT ON "gas" FOR EACH ROW EXECUTE FUNCTION gas_post();
--> statement-breakpoint
CREATE TRIGGER payment_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "payment_events"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
CREATE TRIGGER settlement_items_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "settlement_items"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "transfers"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
CREATE TRIGGER gas_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "gas"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
--> statement-breakpoint
CREATE TRIGGER postings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "postings"
  FOR EACH STATEMENT EXECUTE FUNCTION append_only();
