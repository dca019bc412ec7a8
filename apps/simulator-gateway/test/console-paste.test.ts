import { usdcAbi } from '@upfront/devnet'
import { createPublicClient, createWalletClient, encodeFunctionData, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { inBrowser } from './chromium.js'
import { consoleOnDevnet, paste, result } from './console-page.js'

const NOBODY = '0x00000000000000000000000000000000000b0b00'
const LIAR = '0x0000000000000000000000000000000000011a50'

describe('pasting on /console', () => {
  const stand = consoleOnDevnet()
  const { pages } = stand

  const wallet = () => {
    const account = privateKeyToAccount(stand.devnet.accounts.deployer.privateKey)
    return createWalletClient({ account, chain: foundry, transport: http(stand.devnet.rpcUrl) })
  }
  const publicClient = () => createPublicClient({ chain: foundry, transport: http(stand.devnet.rpcUrl) })

  inBrowser('recognises every kind of pasted input', async () => {
    const client = wallet()
    const { account } = client
    const { usdc } = stand.devnet.contracts
    const transaction = { to: NOBODY, value: 1n, gas: 21_000n, nonce: 0, chainId: 31337 } as const
    const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1n }
    const authorization = await account.signAuthorization({ address: usdc, chainId: 31337, nonce: 1 })
    const hash = await client.sendTransaction({ to: NOBODY, value: 1n })
    await publicClient().waitForTransactionReceipt({ hash })
    const call = { from: account.address, to: NOBODY, value: '0x1' }
    const gasLimits = { callGasLimit: '0x1', verificationGasLimit: '0x1', preVerificationGas: '0x1' }
    const operation = { sender: NOBODY, nonce: '0x0', callData: '0x', signature: '0x' }
    const safe = { safe: NOBODY, to: LIAR, value: '1', data: '0x', operation: 0, safeTxGas: '0', nonce: 0 }
    const known: [unknown, string | RegExp][] = [
      [encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [NOBODY, 7n] }), 'Calldata'],
      [{ method: 'eth_call', params: [call, 'latest'] }, 'Request of eth_call'],
      [{ method: 'eth_simulateV1', params: [{ blockStateCalls: [{ calls: [call] }] }] }, 'Simulation request'],
      [await account.signTransaction({ ...transaction, gasPrice: 3_000_000_000n }), 'Signed transaction (legacy)'],
      [await account.signTransaction({ ...transaction, ...fees }), 'Signed transaction (eip1559)'],
      [
        await account.signTransaction({ ...transaction, ...fees, authorizationList: [authorization] }),
        'Signed transaction (eip7702)',
      ],
      [hash, /^Transaction of block \d+$/],
      [{ ...call, gas: '0x5208', nonce: '0x0', chainId: '0x7a69' }, 'Transaction in a wallet’s format'],
      [{ ...operation, ...gasLimits, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' }, 'User operation'],
      [safe, 'Safe transaction'],
      [
        {
          ...operation,
          ...{
            initCode: '0x',
            accountGasLimits: hash,
            preVerificationGas: '0x1',
            gasFees: hash,
            paymasterAndData: '0x',
          },
        },
        'User operation',
      ],
      [NOBODY, 'Address'],
    ]
    const refused: [unknown, string][] = [
      [await account.signTransaction({ ...transaction, ...fees, chainId: 1 }), 'it is for Ethereum (1)'],
      ['rubbish', 'neither 0x-hex nor JSON'],
      ['0xb00b', 'neither a signed transaction, nor a hash'],
      [{ colour: 'red' }, 'not a transaction or request that the console knows'],
    ]
    const page = await pages.open()
    for (const [pasted, kind] of known) {
      await paste(page, pasted)
      await page.getByRole('status').getByText(kind, { exact: true }).waitFor()
    }
    for (const [pasted, problem] of refused) {
      await paste(page, pasted)
      await page.getByRole('alert').getByText(problem).waitFor()
      expect(await page.getByRole('status').getByText('Address').count()).toBe(0)
    }
  })

  inBrowser('describes a pasted transaction in a sentence and names the chain in the title', async () => {
    const client = wallet()
    const request = await client.prepareTransactionRequest({ to: NOBODY, value: parseEther('0.25') })
    const page = await pages.open()
    expect(await page.title()).toBe('Look before you sign · Local chain · Upfront')
    await paste(page, await client.signTransaction(request))
    await page.getByRole('status').getByText('Signed transaction (eip1559)').waitFor()
    await result(page).getByText('You send 0.25 ETH. Nobody gains an allowance.').waitFor()
    await result(page).getByText('✓ Succeeds').waitFor()
    await result(page).getByText('The same on latest.').waitFor()
    await result(page).getByRole('img', { name: 'What changes hands: 1 arrow between 2 addresses' }).waitFor()
  })

  inBrowser('applies a signed transaction’s nonce, rejects another chain and marks stale results', async () => {
    const client = wallet()
    const request = await client.prepareTransactionRequest({ to: NOBODY, value: 1n })
    const page = await pages.open()
    await paste(page, await client.signTransaction({ ...request, nonce: 9999 }))
    await result(page)
      .getByRole('alert')
      .getByText(/nonce too high/)
      .waitFor()
    await result(page)
      .getByRole('button', { name: /^Use nonce \d+$/ })
      .click()
    await result(page).getByText('✓ Succeeds').waitFor()

    await page.getByLabel(/^Value/).fill('2')
    await result(page).getByText('The form has changed since this result').waitFor()
    const { account } = client
    await paste(page, await account.signTransaction({ ...request, chainId: 10, type: 'eip1559' } as never))
    await page
      .getByRole('alert')
      .getByText('it is for OP Mainnet (10); this page looks at Local chain (31337)')
      .waitFor()
    expect(await page.getByText('✓ Succeeds').count()).toBe(0)
  })

  inBrowser('replays a mined transaction at its position', async () => {
    const client = wallet()
    const hash = await client.sendTransaction({ to: NOBODY, value: parseEther('0.5') })
    await publicClient().waitForTransactionReceipt({ hash })
    await client.sendTransaction({ to: NOBODY, value: 1n })
    const page = await pages.open()
    await paste(page, hash)
    await page
      .getByRole('status')
      .getByText(/^Transaction of block \d+$/)
      .waitFor()
    await result(page).getByText('Replayed at its position: the same as on chain').waitFor()
    await result(page).getByText('You send 0.5 ETH.').waitFor()
    await paste(page, hash.replace(/.{8}$/, '00000000'))
    await page
      .getByRole('alert')
      .getByText(/no transaction of this hash/)
      .waitFor()
  })

  inBrowser('puts calldata into the form, asks for its target and reports a target without code', async () => {
    const page = await pages.open()
    await paste(page, encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [NOBODY, 7n] }))
    await page.getByText(/^transfer\(recipient: 0x.*, amount: 7\)$/).waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('blocks.0.calls.0.to')
    await page.keyboard.type(LIAR)
    await page.keyboard.press('Enter')
    await result(page).getByText('There is no contract').waitFor()
  })
})
