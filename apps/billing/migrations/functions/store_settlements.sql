-- Stores signed transactions of one signer and marks the payments that they settle as submitted. The signer's row is locked
-- until the transaction ends, which is the lease of its nonces. `outcome` is 'stored', or nothing was stored: 'other nonce' if the
-- signer's next nonce (`next`) is not `first_nonce`, 'moved on' if payments (`gone`) are no longer as stated in `settlements`.
CREATE OR REPLACE FUNCTION store_settlements(of_network text, of_signer text, first_nonce bigint, transactions jsonb, settlements jsonb)
RETURNS TABLE (outcome text, next bigint, gone text[]) LANGUAGE plpgsql AS $$
BEGIN
  SELECT next_nonce INTO next FROM signers WHERE network = of_network AND address = of_signer FOR NO KEY UPDATE;
  IF next IS DISTINCT FROM first_nonce THEN
    outcome := 'other nonce';
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM FROM payments WHERE id IN (SELECT id FROM jsonb_to_recordset(settlements) AS one(id text)) ORDER BY id FOR NO KEY UPDATE;
  SELECT array_agg(one.id) INTO gone FROM jsonb_to_recordset(settlements) AS one(id text, state text, transaction text)
    WHERE NOT EXISTS (SELECT FROM payments
      WHERE payments.id = one.id AND payments.state = one.state AND payments.transaction IS NOT DISTINCT FROM one.transaction);
  IF gone IS NOT NULL THEN
    outcome := 'moved on';
    RETURN NEXT;
    RETURN;
  END IF;
  INSERT INTO signed_transactions SELECT * FROM jsonb_populate_recordset(NULL::signed_transactions, transactions);
  INSERT INTO settlement_items (hash, item, payment_id)
    SELECT hash, item, id FROM jsonb_to_recordset(settlements) AS one(hash text, item int, id text);
  INSERT INTO payment_events (payment_id, at, kind, from_state, to_state, reason, data)
    SELECT id, signed_at, CASE state WHEN 'charging' THEN 'submitted' ELSE 'resubmitted' END, state, 'submitted', NULL,
      jsonb_build_object('transaction', hash, 'signer', of_signer, 'nonce', nonce)
    FROM jsonb_to_recordset(settlements) AS one(id text, state text, hash text) JOIN signed_transactions USING (hash);
  UPDATE payments SET state = 'submitted', transaction = hash, updated_at = signed_at, submitted_at = coalesce(submitted_at, signed_at),
      doubtful_from = NULL, doubt = NULL, finished_at = NULL
    FROM jsonb_to_recordset(settlements) AS one(id text, hash text) JOIN signed_transactions USING (hash)
    WHERE payments.id = one.id;
  UPDATE signers SET next_nonce = next_nonce + jsonb_array_length(transactions) WHERE network = of_network AND address = of_signer
    RETURNING next_nonce INTO next;
  outcome := 'stored';
  RETURN NEXT;
END $$;
