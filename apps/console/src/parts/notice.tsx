import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'

const COLOURS = { danger: 'red', caution: 'yellow', good: 'green', plain: 'blue' } as const

interface Props {
  level: keyof typeof COLOURS
  title?: ReactNode
  children?: ReactNode
  /** Use `alert` for the result of a user's action. */
  role?: 'alert' | 'status' | 'note'
}

/** A notice, coloured by severity. */
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
