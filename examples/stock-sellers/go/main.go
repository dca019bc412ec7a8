// A seller with x402's middleware for net/http: go mod tidy && go run .
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	x402 "github.com/x402-foundation/x402/go"
	x402http "github.com/x402-foundation/x402/go/http"
	"github.com/x402-foundation/x402/go/http/nethttp"
	exact "github.com/x402-foundation/x402/go/mechanisms/evm/exact/server"
	upto "github.com/x402-foundation/x402/go/mechanisms/evm/upto/server"
)

func option(scheme, amount, method string) x402http.PaymentOption {
	extra := map[string]interface{}{"name": env("TOKEN_NAME", "USDC"), "version": env("TOKEN_VERSION", "2")}
	if method != "" {
		extra["assetTransferMethod"] = method
	}
	price := map[string]interface{}{"amount": amount, "asset": os.Getenv("ASSET"), "extra": extra}
	return x402http.PaymentOption{
		Scheme: scheme, Network: x402.Network(os.Getenv("NETWORK")), PayTo: os.Getenv("PAY_TO"), Price: price, MaxTimeoutSeconds: 60,
	}
}

func main() {
	network := x402.Network(os.Getenv("NETWORK"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /weather", func(w http.ResponseWriter, r *http.Request) { answer(w, map[string]int{"celsius": 21}) })
	mux.HandleFunc("GET /words", func(w http.ResponseWriter, r *http.Request) {
		words := len(strings.Fields(r.URL.Query().Get("text")))
		// 0.1 cents per word.
		nethttp.SetSettlementOverrides(w, &x402.SettlementOverrides{Amount: strconv.Itoa(min(words*1_000, 100_000))})
		answer(w, map[string]int{"words": words})
	})
	paid := nethttp.X402Payment(nethttp.Config{
		Routes: x402http.RoutesConfig{
			"GET /weather": {Accepts: x402http.PaymentOptions{option("exact", "2000", ""), option("exact", "2000", "permit2")}},
			"GET /words":   {Accepts: x402http.PaymentOptions{option("upto", "100000", "permit2")}},
		},
		// URL with the token of a seller's account in its path: https://billing.example/s/<token>
		Facilitator: x402http.NewHTTPFacilitatorClient(&x402http.FacilitatorConfig{URL: os.Getenv("FACILITATOR_URL")}),
		Schemes: []nethttp.SchemeConfig{
			{Network: network, Server: exact.NewExactEvmScheme()},
			{Network: network, Server: upto.NewUptoEvmScheme()},
		},
		SyncFacilitatorOnStart: true,
		Timeout:                30 * time.Second,
	})(mux)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+env("PORT", "4021"), paid))
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
