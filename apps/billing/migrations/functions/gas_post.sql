-- Posts the cost of a transaction from its signer to `gas`.
CREATE OR REPLACE FUNCTION gas_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO postings (at, payment_id, network, asset, account, amount) VALUES
    (NEW.recorded_at, NEW.payment_id, NEW.network, 'native', 'signer ' || NEW.signer, -NEW.fee),
    (NEW.recorded_at, NEW.payment_id, NEW.network, 'native', 'gas', NEW.fee);
  RETURN NULL;
END $$;
