-- Wei that approvals of the payer, and those that the signer funds, have cost in 24 hours, or may cost yet.
CREATE OR REPLACE FUNCTION approval_gas(of_network text, of_payer text, of_signer text)
RETURNS TABLE (by_payer numeric, by_signer numeric) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(sponsored_gas) FILTER (WHERE payer = of_payer), 0),
      coalesce(sum(sponsored_gas) FILTER (WHERE facilitator = of_signer), 0)
    FROM payments
    WHERE network = of_network AND approval_transaction IS NOT NULL
    AND state NOT IN ('released', 'zero', 'expired') AND created_at > now() - interval '24 hours'
$$;
