-- What the code promises, held by the database too. The functions are those of src/ledger/sql.
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
-- A settlement that fell out of the chain is open again: the payer holds the tokens until it is back.
CREATE OR REPLACE FUNCTION reserved_amount(of_network text, of_asset text, of_payer text, as_of_block bigint) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT
    (SELECT coalesce(sum(coalesce(charge, maximum)), 0) FROM payments
      WHERE network = of_network AND payer = of_payer AND asset = of_asset
      AND state IN ('authorized', 'charging', 'submitted') AND (block_number IS NULL OR block_number > as_of_block))
    +
    (SELECT coalesce(sum(coalesce(charge, maximum)), 0) FROM payments
      WHERE network = of_network AND payer = of_payer AND asset = of_asset
      AND state = 'settled' AND (block_number IS NULL OR block_number > as_of_block))
$$;
--> statement-breakpoint
-- Wei that the payer's permits in this token, and its own code, have cost in 24 hours, or may cost yet, less what its settled charges are
-- worth. What was never settled cost nothing.
CREATE OR REPLACE FUNCTION sponsored_gas(of_network text, of_asset text, of_payer text, wei_per_unit numeric) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(sponsored_gas), 0) - trunc(coalesce(sum(charge) FILTER (WHERE state = 'settled'), 0) * wei_per_unit) FROM payments
    WHERE network = of_network AND payer = of_payer AND asset = of_asset
    AND state NOT IN ('released', 'zero', 'expired') AND created_at > now() - interval '24 hours'
$$;
--> statement-breakpoint
-- What was recorded stays.
CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
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
-- Holds the closed list of transitions and what never changes, also against our own code.
CREATE OR REPLACE FUNCTION payments_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'payments are never deleted';
  END IF;
  IF NEW.state <> OLD.state AND NOT (OLD.state, NEW.state) IN (
    ('authorized', 'charging'), ('authorized', 'zero'), ('authorized', 'released'), ('authorized', 'expired'),
    ('charging', 'submitted'), ('charging', 'settled'), ('charging', 'failed'),
    ('submitted', 'settled'), ('submitted', 'failed'),
    ('settled', 'submitted'), ('failed', 'settled')
  ) THEN
    RAISE EXCEPTION 'payment % cannot go from % to %', OLD.id, OLD.state, NEW.state;
  END IF;
  IF (NEW.id, NEW.kind, NEW.network, NEW.payer, NEW.nonce, NEW.asset, NEW.pay_to, NEW.facilitator, NEW.maximum, NEW.deadline, NEW.signature,
      NEW.permit_deadline, NEW.permit_signature)
    IS DISTINCT FROM
    (OLD.id, OLD.kind, OLD.network, OLD.payer, OLD.nonce, OLD.asset, OLD.pay_to, OLD.facilitator, OLD.maximum, OLD.deadline, OLD.signature,
      OLD.permit_deadline, OLD.permit_signature)
    OR (OLD.charge IS NOT NULL AND NEW.charge IS DISTINCT FROM OLD.charge) THEN
    RAISE EXCEPTION 'payment % cannot change what was signed or charged', OLD.id;
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
-- No change of a payment without the event that says so, in the same transaction.
CREATE OR REPLACE FUNCTION payments_need_an_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM payment_events WHERE payment_id = NEW.id AND at = NEW.updated_at AND to_state = NEW.state) THEN
    RAISE EXCEPTION 'payment % was written without an event', NEW.id;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Tells every process that listens how far a payment came: its state, and `known` once a seller need not wait for more.
CREATE OR REPLACE FUNCTION payments_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('payments', concat_ws(' ', NEW.network, NEW.id, NEW.state,
    CASE WHEN NEW.block_number IS NOT NULL OR NEW.doubt IS NOT NULL THEN 'known' END));
  RETURN NULL;
END $$;
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
-- Stores a payment with its first event and, where it was asked for under an idempotency key, that key. A key that is taken
-- fails the call as a unique violation. `outcome` is 'reserved'; or nothing was stored, and it is 'used' where the
-- authorization was, 'uncovered' where `balance` or `allowance` does not cover it beside what is reserved already, 'overspent'
-- where its permit or the payer's code would cost more than `most_sponsored` (wei) and what its settled charges are worth.
CREATE OR REPLACE FUNCTION reserve_payment(wanted jsonb, event jsonb, key jsonb, balance numeric, allowance numeric,
  most_sponsored numeric, wei_per_unit numeric)
RETURNS TABLE (outcome text, reserved numeric, place bigint) LANGUAGE plpgsql AS $$
DECLARE
  payment payments := jsonb_populate_record(NULL::payments, wanted);
BEGIN
  -- The reservations of one payer and token happen one after another.
  PERFORM pg_advisory_xact_lock(hashtextextended(payment.network || '/' || payment.asset || '/' || payment.payer, 402));
  reserved := reserved_amount(payment.network, payment.asset, payment.payer, payment.authorized_block);
  -- A permit that is under way replaces the allowance: nothing else stands on it.
  IF reserved > 0 AND (least(balance, allowance) < reserved + payment.maximum OR EXISTS (
    SELECT FROM payments other
      WHERE other.network = payment.network AND other.payer = payment.payer AND other.asset = payment.asset
      AND other.state IN ('authorized', 'charging', 'submitted')
      AND other.permit_signature IS NOT NULL
      AND other.nonce <> payment.nonce))
  THEN
    outcome := 'uncovered';
    RETURN NEXT;
    RETURN;
  END IF;
  IF payment.sponsored_gas IS NOT NULL
    AND payment.sponsored_gas + sponsored_gas(payment.network, payment.asset, payment.payer, wei_per_unit) > most_sponsored
  THEN
    outcome := 'overspent';
    RETURN NEXT;
    RETURN;
  END IF;
  INSERT INTO payments OVERRIDING USER VALUE SELECT payment.* ON CONFLICT (network, payer, nonce) DO NOTHING
    RETURNING sequence INTO place;
  IF place IS NULL THEN
    outcome := 'used';
    RETURN NEXT;
    RETURN;
  END IF;
  INSERT INTO payment_events (payment_id, at, kind, from_state, to_state, reason, data)
    VALUES (payment.id, payment.updated_at, 'authorized', NULL, payment.state, NULL, event);
  IF key IS NOT NULL THEN
    INSERT INTO idempotency_keys SELECT * FROM jsonb_populate_record(NULL::idempotency_keys, key);
  END IF;
  outcome := 'reserved';
  RETURN NEXT;
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
