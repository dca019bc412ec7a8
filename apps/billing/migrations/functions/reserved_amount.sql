-- Smallest unit: what the payer's open payments reserve of the balance at `as_of_block`. Settlements mined above that block count too: the
-- balance still includes their tokens.
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
