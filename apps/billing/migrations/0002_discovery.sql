CREATE TABLE "discovered_resources" (
	"resource" text NOT NULL,
	"operation" text NOT NULL,
	"seller" text,
	"type" text NOT NULL,
	"about" jsonb NOT NULL,
	"accepts" jsonb NOT NULL,
	"bazaar" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "discovered_resources_resource_operation_pk" PRIMARY KEY("resource","operation")
);
--> statement-breakpoint
ALTER TABLE "seller_accounts" ADD COLUMN "origins" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "discovered_resources" ADD CONSTRAINT "discovered_resources_seller_seller_accounts_id_fk" FOREIGN KEY ("seller") REFERENCES "public"."seller_accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "discovered_resources_by_seller" ON "discovered_resources" USING btree ("seller");