-- The accounts and amounts of a payment in a state. They sum to zero; `promised` is the payer's side.
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
