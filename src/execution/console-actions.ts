// List of console actions.
import { acceptInvitation } from '../accounts/accept-invitation.ts'
import { changePassword } from '../accounts/change-password.ts'
import { lookAtInvitation } from '../accounts/look-at-invitation.ts'
import { updateAccount } from '../accounts/update-account.ts'
import type { AnyConsoleAction } from '../operation/console-action.ts'
import { getSession } from '../sessions/get-session.ts'
import { listSessions } from '../sessions/list-sessions.ts'
import { lookAtLink } from '../sessions/look-at-link.ts'
import { signIn } from '../sessions/sign-in.ts'
import { signInWithLink } from '../sessions/sign-in-with-link.ts'
import { signOut } from '../sessions/sign-out.ts'
import { signOutEverywhere } from '../sessions/sign-out-everywhere.ts'

export const consoleActions: AnyConsoleAction[] = [
  getSession,
  signIn,
  lookAtLink,
  signInWithLink,
  signOut,
  listSessions,
  signOutEverywhere,
  lookAtInvitation,
  acceptInvitation,
  updateAccount,
  changePassword,
]
