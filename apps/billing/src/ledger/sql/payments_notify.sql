-- Tells every process that listens how far a payment came.
CREATE OR REPLACE FUNCTION payments_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('payments', concat_ws(' ', NEW.network, NEW.id, NEW.state, NEW.block_number));
  RETURN NULL;
END $$;
