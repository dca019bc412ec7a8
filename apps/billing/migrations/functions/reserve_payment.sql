-- Stores a payment with its first event and its idempotency key, if it has one. If the key is taken, the call fails with a
-- unique violation. `outcome` is 'reserved', or nothing was stored: 'used' if the authorization was used before, 'named' if
-- the payer used the identifier within 24 hours for another payment to this recipient that did not fail, expire or get
-- released, 'uncovered' if `balance` or `allowance` does not cover it in addition to other reservations, 'overspent' if its
-- permit or the payer's code may cost more than `most_sponsored` (wei) plus the value of its settled charges. Without an
-- `event` nothing is stored and no lock is taken: 'reserved' then means that it could be stored.
CREATE OR REPLACE FUNCTION reserve_payment(wanted jsonb, event jsonb, key jsonb, balance numeric, allowance numeric,
  most_sponsored numeric, wei_per_unit numeric)
RETURNS TABLE (outcome text, reserved numeric, place bigint) LANGUAGE plpgsql AS $$
DECLARE
  payment payments := jsonb_populate_record(NULL::payments, wanted);
BEGIN
  -- Serializes the reservations of one payer and token.
  IF event IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(payment.network || '/' || payment.asset || '/' || payment.payer, 402));
  END IF;
  reserved := reserved_amount(payment.network, payment.asset, payment.payer, payment.authorized_block);
  -- Not one condition: until the migration, no table has the column, and no process sends it.
  IF wanted ->> 'identifier' IS NOT NULL THEN
    IF EXISTS (SELECT FROM payments other
        WHERE other.network = payment.network AND other.payer = payment.payer AND other.asset = payment.asset
        AND other.identifier = payment.identifier AND other.pay_to = payment.pay_to AND other.nonce <> payment.nonce
        AND other.state NOT IN ('failed', 'released', 'expired')
        AND other.created_at > payment.created_at - interval '24 hours')
    THEN
      outcome := 'named';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  -- An open permit replaces the allowance, so no other payment can rely on it.
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
  IF event IS NULL THEN
    outcome := 'reserved';
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
