// Links to console pages with typed `to`, `params` and `search`.
import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentPropsWithRef } from 'react'

type LinkProps = Omit<ComponentPropsWithRef<'a'>, 'color' | 'style'>

// The router also marks links to parent pages as the current page for screen readers.
const MantineAnchor = ({ 'aria-current': _, ...props }: AnchorProps & LinkProps) => <Anchor {...props} />
const MantineButton = ({ 'aria-current': _, ...props }: ButtonProps & LinkProps) => <Button component="a" {...props} />

export const PageLink = createLink(MantineAnchor)
export const PageButton = createLink(MantineButton)
