ALTER TABLE "payments" ADD COLUMN "approval_transaction" text;--> statement-breakpoint
ALTER TABLE "signed_transactions" ADD COLUMN "value" numeric(78, 0) DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "signed_transactions" ADD COLUMN "funds" text;--> statement-breakpoint
ALTER TABLE "signed_transactions" ADD CONSTRAINT "signed_transactions_funds_payments_id_fk" FOREIGN KEY ("funds") REFERENCES "public"."payments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "payments_approving" ON "payments" USING btree ("network","created_at") WHERE "payments"."approval_transaction" is not null;--> statement-breakpoint
CREATE INDEX "signed_transactions_by_funded" ON "signed_transactions" USING btree ("funds") WHERE "signed_transactions"."funds" is not null;
--> statement-breakpoint
-- Wei that approvals of the payer, and those that the signer funds, have cost in 24 hours, or may cost yet.
CREATE OR REPLACE FUNCTION approval_gas(of_network text, of_payer text, of_signer text)
RETURNS TABLE (by_payer numeric, by_signer numeric) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(sponsored_gas) FILTER (WHERE payer = of_payer), 0),
      coalesce(sum(sponsored_gas) FILTER (WHERE facilitator = of_signer), 0)
    FROM payments
    WHERE network = of_network AND approval_transaction IS NOT NULL
    AND state NOT IN ('released', 'zero', 'expired') AND created_at > now() - interval '24 hours'
$$;
--> statement-breakpoint
-- With its last parameters left out it still serves the processes that know nothing of approvals.
DROP FUNCTION reserve_payment(jsonb, jsonb, jsonb, numeric, numeric, numeric);
--> statement-breakpoint
-- Stores a payment with its first event and, where it was asked for under an idempotency key, that key. A key that is taken
-- fails the call as a unique violation. `outcome` is 'reserved'; or nothing was stored, and it is 'used' where the
-- authorization was, 'uncovered' where `balance` or `allowance` does not cover it beside what is reserved already, 'overspent'
-- where it has a permit that would cost more than the payer has left of `daily_sponsored_gas`, or an approval that would cost more
-- than the payer has left of `payer_approvals` or the signer of `signer_approvals` (wei).
CREATE OR REPLACE FUNCTION reserve_payment(wanted jsonb, event jsonb, key jsonb, balance numeric, allowance numeric,
  daily_sponsored_gas numeric DEFAULT 0, payer_approvals numeric DEFAULT 0, signer_approvals numeric DEFAULT 0)
RETURNS TABLE (outcome text, reserved numeric, place bigint) LANGUAGE plpgsql AS $$
DECLARE
  payment payments := jsonb_populate_record(NULL::payments, wanted);
BEGIN
  -- The reservations of one payer and token happen one after another.
  PERFORM pg_advisory_xact_lock(hashtextextended(payment.network || '/' || payment.asset || '/' || payment.payer, 402));
  reserved := reserved_amount(payment.network, payment.asset, payment.payer, payment.authorized_block);
  IF payment.approval_transaction IS NOT NULL THEN
    -- The budget of a signer is one for all payers, and so is the account's nonce for all tokens of a payer.
    PERFORM pg_advisory_xact_lock(hashtextextended(payment.network || '/approvals', 402));
    IF EXISTS (
      SELECT FROM payments other
        WHERE other.network = payment.network AND other.payer = payment.payer AND other.approval_transaction IS NOT NULL
        AND other.state IN ('authorized', 'charging', 'submitted') AND other.nonce <> payment.nonce)
    THEN
      outcome := 'uncovered';
      RETURN NEXT;
      RETURN;
    END IF;
    IF EXISTS (
      SELECT FROM approval_gas(payment.network, payment.payer, payment.facilitator) AS spent
        WHERE payment.sponsored_gas + spent.by_payer > payer_approvals
        OR payment.sponsored_gas + spent.by_signer > signer_approvals)
    THEN
      outcome := 'overspent';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  -- A permit or an approval that is under way replaces the allowance: nothing else stands on it.
  IF reserved > 0 AND (least(balance, allowance) < reserved + payment.maximum OR EXISTS (
    SELECT FROM payments other
      WHERE other.network = payment.network AND other.payer = payment.payer AND other.asset = payment.asset
      AND other.state IN ('authorized', 'charging', 'submitted')
      AND (other.permit_signature IS NOT NULL OR other.approval_transaction IS NOT NULL)
      AND other.nonce <> payment.nonce))
  THEN
    outcome := 'uncovered';
    RETURN NEXT;
    RETURN;
  END IF;
  IF payment.permit_signature IS NOT NULL
    AND payment.sponsored_gas + sponsored_gas(payment.network, payment.asset, payment.payer) > daily_sponsored_gas
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
  IF (NEW.id, NEW.network, NEW.payer, NEW.nonce, NEW.asset, NEW.pay_to, NEW.facilitator, NEW.maximum, NEW.deadline, NEW.signature,
      NEW.permit_deadline, NEW.permit_signature, NEW.approval_transaction)
    IS DISTINCT FROM
    (OLD.id, OLD.network, OLD.payer, OLD.nonce, OLD.asset, OLD.pay_to, OLD.facilitator, OLD.maximum, OLD.deadline, OLD.signature,
      OLD.permit_deadline, OLD.permit_signature, OLD.approval_transaction)
    OR (OLD.charge IS NOT NULL AND NEW.charge IS DISTINCT FROM OLD.charge) THEN
    RAISE EXCEPTION 'payment % cannot change what was signed or charged', OLD.id;
  END IF;
  RETURN NEW;
END $$;
