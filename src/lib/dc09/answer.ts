import { encrypt } from './cipher.ts';
import { enclose, type Frame, timestamp } from './frame.ts';

type Asked = Pick<Frame, 'seq' | 'line' | 'account'>;

/**
 * The answers of a receiver. ACK: what the frame says is kept. It repeats sequence, receiver, line and account as they
 * came and nothing else: panels compare. To an encrypted frame it is encrypted, with the time.
 */
export function ack(frame: Asked, encrypted?: { key: Buffer; wallMs: number }): string {
  if (encrypted === undefined) return enclose(`"ACK"${echo(frame)}[]`);
  return enclose(`"*ACK"${echo(frame)}[${encrypt(`]${timestamp(encrypted.wallMs)}`, encrypted.key)}`);
}

/** DUH: arrived whole, but cannot be used. A panel may then try its other receiver. */
export const duh = (frame: Asked): string => enclose(`"DUH"${echo(frame)}[]`);

/** NAK: the time in the frame is too far from ours, which it carries so that the panel can set its clock. */
export const nak = (wallMs: number): string => enclose(`"NAK"0000R0L0A0[]${timestamp(wallMs)}`);

const echo = ({ seq, line, account }: Asked): string => `${seq}${line}#${account ?? ''}`;

/** How far a panel's clock may be behind or before the receiver's, milliseconds (DC-09: -40 s to +20 s). */
export const clockBounds = { behindMs: 40_000, beforeMs: 20_000 } as const;

export const isTimely = (at: number, wallMs: number): boolean =>
  at - wallMs >= -clockBounds.behindMs && at - wallMs <= clockBounds.beforeMs;
