// Simulates one call that reverts and one that succeeds with go-ethereum's own client, and prints what it understood.
// Arguments: the URL, an address whose code the first call runs, and that code, in hex.
package main

import (
	"context"
	"encoding/json"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
)

func main() {
	url, target, code := os.Args[1], common.HexToAddress(os.Args[2]), common.FromHex(os.Args[3])
	client, err := ethclient.Dial(url)
	check(err)
	blocks, err := client.SimulateV1(context.Background(), ethclient.SimulateOptions{
		BlockStateCalls: []ethclient.SimulateBlock{{
			StateOverrides: map[common.Address]ethereum.OverrideAccount{target: {Code: code}},
			Calls:          []ethereum.CallMsg{{To: &target}, {To: &common.Address{}, Value: new(big.Int)}},
		}},
	}, nil)
	check(err)
	pending, err := client.PendingTransactionCount(context.Background())
	check(err)
	head, err := client.BlockByNumber(context.Background(), big.NewInt(-1))
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"calls": blocks[0].Calls, "pending": pending, "transactions": len(head.Transactions()),
	}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
