-- A transfer of a payment that has failed, such as one of another amount, was received all the same.
CREATE OR REPLACE FUNCTION transfers_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT state FROM payments WHERE id = NEW.payment_id) = 'failed' THEN
    INSERT INTO postings (at, payment_id, network, asset, account, amount) VALUES
      (NEW.recorded_at, NEW.payment_id, NEW.network, NEW.asset, 'received', NEW.amount),
      (NEW.recorded_at, NEW.payment_id, NEW.network, NEW.asset, 'written off', -NEW.amount);
  END IF;
  RETURN NULL;
END $$;
