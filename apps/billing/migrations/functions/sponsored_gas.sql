-- Wei that the payer's permits in this token and its own code have cost in 24 hours or may still cost, minus the value of its settled
-- charges of that time, except those paid to itself. Released, expired and zero-charged payments cost nothing; failed ones count.
CREATE OR REPLACE FUNCTION sponsored_gas(of_network text, of_asset text, of_payer text, wei_per_unit numeric) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(sponsored_gas), 0) - trunc(coalesce(sum(charge) FILTER (WHERE state = 'settled' AND pay_to <> payer), 0) * wei_per_unit) FROM payments
    WHERE network = of_network AND payer = of_payer AND asset = of_asset
    AND state NOT IN ('released', 'zero', 'expired') AND created_at > now() - interval '24 hours'
$$;
