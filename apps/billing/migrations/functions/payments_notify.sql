-- Notifies all listening processes of a payment's state, with `known` once the seller need not wait longer.
CREATE OR REPLACE FUNCTION payments_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('payments', concat_ws(' ', NEW.network, NEW.id, NEW.state,
    CASE WHEN NEW.block_number IS NOT NULL OR NEW.doubt IS NOT NULL THEN 'known' END));
  RETURN NULL;
END $$;
