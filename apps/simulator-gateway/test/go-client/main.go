// Uses go-ethereum's own client, and prints what it understood.
//
//	client URL ADDRESS CODE          simulates a call that reverts, in the code put at the address, and one that succeeds
//	client URL ADDRESS CODE EMITTER  the same, over WebSocket; then prints the emitter's next log, and the head that holds it
package main

import (
	"context"
	"encoding/json"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
)

func main() {
	url, target, code := os.Args[1], common.HexToAddress(os.Args[2]), common.FromHex(os.Args[3])
	client, err := ethclient.Dial(url)
	check(err)
	simulate(client, target, code)
	if len(os.Args) > 4 {
		subscribe(client, common.HexToAddress(os.Args[4]))
	}
}

func simulate(client *ethclient.Client, target common.Address, code []byte) {
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

func subscribe(client *ethclient.Client, emitter common.Address) {
	heads, logs := make(chan *types.Header, 64), make(chan types.Log, 64)
	_, err := client.SubscribeNewHead(context.Background(), heads)
	check(err)
	query := ethereum.FilterQuery{Addresses: []common.Address{emitter}}
	_, err = client.SubscribeFilterLogs(context.Background(), query, logs)
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"subscribed": true}))
	log := <-logs
	for head := range heads {
		if head.Number.Uint64() == log.BlockNumber {
			check(json.NewEncoder(os.Stdout).Encode(map[string]any{"head": head.Hash(), "log": log}))
			return
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
