-- What was recorded stays.
CREATE OR REPLACE FUNCTION payment_events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'payment events are append-only';
END $$;
