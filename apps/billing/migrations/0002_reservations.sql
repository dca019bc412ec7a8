-- A reservation in one call: its steps have to see what those before them committed, one after another.

-- What may still be taken from a payer's holdings, in the token's smallest unit: the maximum of each authorized payment and
-- the charge of each that is under way. A settlement after `as_of_block` counts too, as the balance may have been read
-- before it.
CREATE FUNCTION reserved_amount(of_network text, of_asset text, of_payer text, as_of_block bigint) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT
    (SELECT coalesce(sum(coalesce(charge, maximum)), 0) FROM payments
      WHERE network = of_network AND payer = of_payer AND asset = of_asset
      AND state IN ('authorized', 'charging', 'submitted') AND (block_number IS NULL OR block_number > as_of_block))
    +
    (SELECT coalesce(sum(coalesce(charge, maximum)), 0) FROM payments
      WHERE network = of_network AND payer = of_payer AND asset = of_asset
      AND state = 'settled' AND block_number > as_of_block)
$$;
--> statement-breakpoint
-- Stores a payment with its first event and, where it was asked for under an idempotency key, that key. A key that is taken
-- fails the call as a unique violation. `outcome` is 'reserved'; or nothing was stored, and it is 'used' where the
-- authorization was, 'uncovered' where `balance` or `allowance` does not cover it beside what is reserved already.
CREATE FUNCTION reserve_payment(wanted jsonb, event jsonb, key jsonb, balance numeric, allowance numeric)
RETURNS TABLE (outcome text, reserved numeric, place bigint) LANGUAGE plpgsql AS $$
DECLARE
  payment payments := jsonb_populate_record(NULL::payments, wanted);
BEGIN
  -- The reservations of one payer and token happen one after another.
  PERFORM pg_advisory_xact_lock(hashtextextended(payment.network || '/' || payment.asset || '/' || payment.payer, 402));
  reserved := reserved_amount(payment.network, payment.asset, payment.payer, payment.authorized_block);
  IF reserved > 0 AND least(balance, allowance) < reserved + payment.maximum THEN
    outcome := 'uncovered';
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
