import type { ArmingSource } from './arming.ts';
import type { PartitionId } from './ids.ts';

/** What a person calls for. `silent` is nobody's to see but the station's and the auditor's (safety 4). */
export const panicKinds = ['audible', 'silent', 'medical', 'fire'] as const;
export type PanicKind = (typeof panicKinds)[number];

/** Whom a guard may ask the service to send. */
export const dispatchKinds = ['guard', 'police', 'medical', 'fire'] as const;
export type DispatchKind = (typeof dispatchKinds)[number];

/**
 * A call for help by a client of the site. It takes no code and has no deadline, no limit and no lock; only the same kind under
 * the same id is the same call (safety 1, C2).
 */
export interface PanicCall {
  readonly id: string;
  readonly kind: PanicKind;
  /** Where help is needed, as far as the client said; what the site does not have is no reason not to call. */
  readonly partition?: PartitionId | 'all';
  /** Wall clock milliseconds, by the client's clock. */
  readonly issuedAt?: number;
  readonly expiresAt?: number;
  /** The broker kept it: nobody knows for how long. */
  readonly retained?: boolean;
  readonly source: Extract<ArmingSource, 'lan' | 'cli'>;
  /** The LAN client or program it came from. */
  readonly client: string;
  readonly actor?: string;
}
