import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'

const COLOURS = { danger: 'red', caution: 'yellow', good: 'green', plain: 'blue' } as const

interface Props {
  level: keyof typeof COLOURS
  title?: ReactNode
  children?: ReactNode
  /** `alert` for what follows from what somebody just did. */
  role?: 'alert' | 'status' | 'note'
}

/** Something to know, coloured by how much it matters. */
export function Notice({ level, title, children, role = 'note' }: Props) {
  return (
    <Alert
      className={`notice ${level}`}
      color={COLOURS[level]}
      variant="light"
      title={title}
      role={role}
      classNames={{ title: 'notice-title', message: 'notice-body' }}
    >
      {children}
    </Alert>
  )
}
