// What the checker takes of `node:diagnostics_channel`, on a page: nobody traces there.

export function channel() {
  return { hasSubscribers: false, publish() {} }
}
