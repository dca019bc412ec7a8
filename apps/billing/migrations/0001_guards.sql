-- What the code promises, held by the database too: closed transitions, identities that never change, no update without
-- its event, events that are never changed, rows that are never deleted.
ALTER TABLE "payments" ADD CONSTRAINT "payments_state_known" CHECK ("state" in
  ('authorized', 'charging', 'submitted', 'settled', 'failed', 'zero', 'released', 'expired'));
--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_charge_at_most_maximum" CHECK ("charge" IS NULL OR ("charge" >= 0 AND "charge" <= "maximum"));
--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_charged_states_have_a_charge" CHECK (
  CASE
    WHEN "state" in ('charging', 'submitted', 'settled') THEN "charge" > 0 AND "charge" IS NOT NULL
    WHEN "state" = 'zero' THEN "charge" = 0 AND "charge" IS NOT NULL
    WHEN "state" in ('authorized', 'released', 'expired') THEN "charge" IS NULL
    ELSE true
  END);
--> statement-breakpoint
CREATE FUNCTION payments_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'payments are never deleted';
  END IF;
  IF NEW.state <> OLD.state AND NOT (OLD.state, NEW.state) IN (
    ('authorized', 'charging'), ('authorized', 'zero'), ('authorized', 'released'), ('authorized', 'expired'),
    ('charging', 'submitted'), ('charging', 'settled'), ('charging', 'failed'),
    ('submitted', 'settled'), ('submitted', 'failed')
  ) THEN
    RAISE EXCEPTION 'payment % cannot go from % to %', OLD.id, OLD.state, NEW.state;
  END IF;
  IF (NEW.id, NEW.network, NEW.payer, NEW.nonce, NEW.asset, NEW.pay_to, NEW.facilitator, NEW.maximum, NEW.deadline, NEW.signature)
    IS DISTINCT FROM
    (OLD.id, OLD.network, OLD.payer, OLD.nonce, OLD.asset, OLD.pay_to, OLD.facilitator, OLD.maximum, OLD.deadline, OLD.signature)
    OR (OLD.charge IS NOT NULL AND NEW.charge IS DISTINCT FROM OLD.charge) THEN
    RAISE EXCEPTION 'payment % cannot change what was signed or charged', OLD.id;
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER payments_guard BEFORE UPDATE OR DELETE ON "payments" FOR EACH ROW EXECUTE FUNCTION payments_guard();
--> statement-breakpoint
CREATE FUNCTION payments_need_an_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM payment_events WHERE payment_id = NEW.id AND at = NEW.updated_at AND to_state = NEW.state) THEN
    RAISE EXCEPTION 'payment % was written without an event', NEW.id;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER payments_need_an_event AFTER INSERT OR UPDATE ON "payments"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payments_need_an_event();
--> statement-breakpoint
CREATE FUNCTION payment_events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'payment events are append-only';
END $$;
--> statement-breakpoint
CREATE TRIGGER payment_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "payment_events"
  FOR EACH STATEMENT EXECUTE FUNCTION payment_events_append_only();
