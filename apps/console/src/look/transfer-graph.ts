import { Graph, layout } from '@dagrejs/dagre'
import { type Address, checksumAddress } from 'viem'
import {
  type Approval,
  type AssetChanges,
  approvalText,
  contradictedTransfers,
  isContradicted,
  shortAmountText,
  type Transfer,
} from './assets.js'

/** A node of the picture: an address. */
interface AddressBox extends Box {
  address: Address
  /** Its text: the shortened address. */
  text: string
  isSigner: boolean
}

/** A transfer, or a permission to take tokens from now on. */
interface Arrow {
  kind: 'transfer' | 'approval'
  from: Address
  to: Address
  text: string
  /** The contract's state contradicts its log. */
  isContradicted: boolean
}

interface Point {
  x: number
  y: number
}

/** A box around its centre, in CSS pixels. */
interface Box extends Point {
  width: number
  height: number
}

export interface TransferGraph {
  places: AddressBox[]
  arrows: (Arrow & { points: Point[]; label: Point & { width: number } })[]
  /** Number of arrows without the bound. */
  total: number
  width: number
  height: number
}

/** With more arrows the picture is unreadable. */
const MAX_ARROWS = 40
/** Width of a character of the 12px monospace text. */
const CHARACTER_WIDTH = 7.25
const MAX_CHARACTERS = 40
const PLACE_HEIGHT = 40
const LABEL_HEIGHT = 20
const MARGIN = 8

/**
 * Lays out addresses from left to right along their transfers. If there are too many arrows,
 * contradicted ones are kept first, then the signer's own, then approvals.
 * @param signer shown on the left
 * @param nameOf names of contracts, if known
 */
export function transferGraph(
  changes: AssetChanges,
  signer: Address,
  nameOf: (address: Address) => string | undefined = () => undefined,
): TransferGraph {
  const all = arrowsOf(changes)
  const rank = ({ isContradicted, from, to, kind }: Arrow) => {
    if (isContradicted) return 0
    if (from === signer || to === signer) return 1
    return kind === 'approval' ? 2 : 3
  }
  const arrows = all.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_ARROWS)
  const cut = shortTexts(arrows.flatMap(({ from, to }) => [from, to]))
  const texts = new Map([...cut].map(([address, short]) => [address, named(nameOf(address), short)]))

  const graph = new Graph({ multigraph: true })
    .setGraph({ rankdir: 'LR', nodesep: 16, edgesep: 8, ranksep: 24, marginx: MARGIN, marginy: MARGIN })
    .setDefaultEdgeLabel(() => ({}))
  for (const [address, text] of texts) graph.setNode(address, { width: widthOf(text) + 16, height: PLACE_HEIGHT })
  // Transfers to the signer are laid out in reverse, so that the signer is leftmost.
  const endsOf = ({ from, to }: Arrow) => (to === signer ? ([to, from] as const) : ([from, to] as const))
  for (const [at, arrow] of arrows.entries())
    graph.setEdge(...endsOf(arrow), { width: widthOf(arrow.text) + 12, height: LABEL_HEIGHT, labelpos: 'c' }, `${at}`)
  layout(graph)

  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return {
    places: [...texts].map(([address, text]) => ({
      ...(graph.node(address) as Box),
      address,
      text,
      isSigner: address === signer,
    })),
    arrows: arrows.map((arrow, at) => {
      const { from, to, text } = arrow
      const laid = graph.edge(...endsOf(arrow), `${at}`) as { points: Point[] } & Point
      const { points: along, ...middle } = laid
      const points = to === signer ? along.toReversed() : along
      return {
        ...arrow,
        points: from === to ? loopBelow(graph.node(from) as Box, middle.y) : points,
        label: { x: middle.x, y: middle.y, width: widthOf(text) + 4 },
      }
    }),
    total: all.length,
    width,
    height,
  }
}

/** dagre's points for a self-loop leave the picture, but the space that it reserves below the node is right. */
function loopBelow({ x, y, width, height }: Box, bottom: number): Point[] {
  const [left, right, top] = [x - width / 4, x + width / 4, y + height / 2]
  return [
    { x: left, y: top },
    { x: left, y: bottom },
    { x: right, y: bottom },
    { x: right, y: top },
  ]
}

function arrowsOf(changes: AssetChanges): Arrow[] {
  const contradicted = contradictedTransfers(changes)
  const transfers = changes.transfers.map((transfer: Transfer): Arrow => {
    const { from, to, amount } = transfer
    const isWrong = contradicted.has(transfer)
    return {
      kind: 'transfer',
      from,
      to,
      text: labelOf(shortAmountText(transfer, amount), isWrong),
      isContradicted: isWrong,
    }
  })
  const approvals = changes.approvals.map((approval: Approval): Arrow => {
    const { owner, spender } = approval
    const isWrong = isContradicted(approval)
    const text = labelOf(`may ${approvalText(approval, shortAmountText)}`, isWrong)
    return { kind: 'approval', from: owner, to: spender, text, isContradicted: isWrong }
  })
  return [...transfers, ...approvals]
}

const MAX_NAME = 24

function named(name: string | undefined, short: string): string {
  if (name === undefined) return short
  return `${name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name} ${short}`
}

function labelOf(text: string, isWrong: boolean): string {
  const whole = isWrong ? `⚠ ${text}` : text
  return whole.length > MAX_CHARACTERS ? `${whole.slice(0, MAX_CHARACTERS - 1)}…` : whole
}

function widthOf(text: string): number {
  return text.length * CHARACTER_WIDTH
}

/**
 * Checksummed addresses, shortened to as few digits at both ends as distinguish all of them, at
 * least four: look-alike addresses agree at both ends.
 */
export function shortTexts(addresses: readonly Address[]): Map<Address, string> {
  const distinct = [...new Set(addresses)]
  const cut = (digits: number) => (address: Address) => {
    const whole = checksumAddress(address)
    return `${whole.slice(0, 2 + digits)}…${whole.slice(-digits)}`
  }
  let digits = 4
  while (digits < 20 && new Set(distinct.map((address) => cut(digits)(address).toLowerCase())).size < distinct.length)
    digits += 4
  return new Map(distinct.map((address) => [address, digits < 20 ? cut(digits)(address) : checksumAddress(address)]))
}
