import type { ResourceInfo } from '@x402/core/types'

/** The 402 page for browsers. Wallets and scripts read the PAYMENT-REQUIRED header of the same answer. */
export function paymentRequiredPage(
  message: string,
  resource: ResourceInfo,
  prices: readonly string[],
  policy: readonly string[],
): string {
  const description = resource.description ? `<p>${escapeHtml(resource.description)}</p>` : ''
  const items = (texts: readonly string[]) => texts.map((text) => `<li>${escapeHtml(text)}</li>`).join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment required</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}code{word-break:break-all}</style>
</head>
<body>
<h1>Payment required</h1>
<p>${escapeHtml(message)}</p>
${description}
<p><code>${escapeHtml(resource.url)}</code> charges for use:</p>
<ul>${items(prices)}</ul>
<p>You authorize a maximum and are charged what your request took. An x402 client (v2, scheme <code>upto</code>) pays by
itself: the offer is in the <code>PAYMENT-REQUIRED</code> header of this answer.</p>
<ul>${items(policy)}</ul>
</body>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
