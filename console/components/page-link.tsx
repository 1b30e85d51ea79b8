// Links to pages of the console whose `to`, `params` and `search` are checked against the routes.
import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentPropsWithRef } from 'react'

type LinkProps = Omit<ComponentPropsWithRef<'a'>, 'color' | 'style'>

// The router takes a link to a page above this one for a link to this one, and would tell screen readers so.
const MantineAnchor = ({ 'aria-current': _, ...props }: AnchorProps & LinkProps) => <Anchor {...props} />
const MantineButton = ({ 'aria-current': _, ...props }: ButtonProps & LinkProps) => <Button component="a" {...props} />

export const PageLink = createLink(MantineAnchor)
export const PageButton = createLink(MantineButton)
