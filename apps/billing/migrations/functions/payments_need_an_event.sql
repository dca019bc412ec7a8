-- Every change of a payment needs a matching event in the same transaction.
CREATE OR REPLACE FUNCTION payments_need_an_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM payment_events WHERE payment_id = NEW.id AND at = NEW.updated_at AND to_state = NEW.state) THEN
    RAISE EXCEPTION 'payment % was written without an event', NEW.id;
  END IF;
  RETURN NULL;
END $$;
