-- Tells every process that listens how far a payment came: its state, and `known` once a seller need not wait for more.
CREATE OR REPLACE FUNCTION payments_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('payments', concat_ws(' ', NEW.network, NEW.id, NEW.state,
    CASE WHEN NEW.block_number IS NOT NULL OR NEW.doubt IS NOT NULL THEN 'known' END));
  RETURN NULL;
END $$;
