CREATE TABLE "refused_payers" (
	"network" text NOT NULL,
	"payer" text NOT NULL,
	"transactions" integer NOT NULL,
	"gas_used" numeric(78, 0) NOT NULL,
	"refused_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "refused_payers_network_payer_pk" PRIMARY KEY("network","payer")
);
--> statement-breakpoint
DROP INDEX "payments_settled_by_block";--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "next_look" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "doubtful_from" bigint;--> statement-breakpoint
CREATE INDEX "payments_mined_by_block" ON "payments" USING btree ("network","block_number") WHERE "payments"."state" in ('submitted', 'settled');--> statement-breakpoint
CREATE INDEX "payments_to_submit" ON "payments" USING btree ("network","facilitator","origin","deadline","next_look") WHERE "payments"."state" = 'charging';--> statement-breakpoint
CREATE INDEX "payments_submitted" ON "payments" USING btree ("network","facilitator","next_look") WHERE "payments"."state" = 'submitted';
--> statement-breakpoint
-- Tells every process that listens how far a payment came.
CREATE OR REPLACE FUNCTION payments_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('payments', concat_ws(' ', NEW.network, NEW.id, NEW.state, NEW.block_number));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER payments_notify AFTER UPDATE OF "state" ON "payments" FOR EACH ROW
  WHEN ((OLD.state, OLD.block_number) IS DISTINCT FROM (NEW.state, NEW.block_number)) EXECUTE FUNCTION payments_notify();
--> statement-breakpoint
-- A claim changes nothing that accounts or events tell.
DROP TRIGGER payments_post ON "payments";
--> statement-breakpoint
CREATE TRIGGER payments_post AFTER INSERT OR UPDATE OF "state" ON "payments" FOR EACH ROW EXECUTE FUNCTION payments_post();
--> statement-breakpoint
UPDATE "payments" SET "next_look" = now() WHERE "state" IN ('charging', 'submitted');
