-- Posts a transfer of a failed payment, such as one of a wrong amount, as received.
CREATE OR REPLACE FUNCTION transfers_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT state FROM payments WHERE id = NEW.payment_id) = 'failed' THEN
    INSERT INTO postings (at, payment_id, network, asset, account, amount) VALUES
      (NEW.recorded_at, NEW.payment_id, NEW.network, NEW.asset, 'received', NEW.amount),
      (NEW.recorded_at, NEW.payment_id, NEW.network, NEW.asset, 'written off', -NEW.amount);
  END IF;
  RETURN NULL;
END $$;
