-- Wei that the payer's permits in this token, and its own code, have cost in 24 hours, or may cost yet. What was never settled cost nothing.
CREATE OR REPLACE FUNCTION sponsored_gas(of_network text, of_asset text, of_payer text) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(sponsored_gas), 0) FROM payments
    WHERE network = of_network AND payer = of_payer AND asset = of_asset AND sponsored_gas IS NOT NULL
    AND state NOT IN ('released', 'zero', 'expired') AND created_at > now() - interval '24 hours'
$$;
