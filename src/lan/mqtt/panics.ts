import { z } from 'zod';
import type { CommandResult, PanicCall } from '#site/model/index.ts';
import {
  type CommandMessage,
  type Envelope,
  fieldOf,
  type LooseCall,
  provenClient,
  type Refusal,
  readCall,
} from './parse.ts';
import { panicBody } from './schemas.ts';
import type { SitePort } from './site-port.ts';

export interface PanicsOptions {
  readonly site: Pick<SitePort, 'panic'>;
  /** Answers a call; nothing of it is counted or logged. */
  readonly answer: (to: Envelope, message: CommandMessage, result: CommandResult) => void;
  readonly refuse: (to: Envelope, message: CommandMessage, refusal: Refusal) => void;
  /** A call that everybody may know of was handed on. */
  readonly noteTaken: () => void;
}

/**
 * Calls for help (`cmd/panic`). They wait for nothing: no code, rate, queue or birth of a connection, and neither age nor the
 * retain flag refuses one (safety 1). What of a silent one could be seen is left out here too (safety 4).
 */
export function createPanics(options: PanicsOptions): { take(message: CommandMessage): void } {
  return {
    take(message) {
      const found = readCall(message, members);
      if (found === undefined) return;
      const { envelope } = found;
      const call = callOf(found, message);
      if ('code' in call) {
        options.refuse(envelope, message, call);
        message.onDone?.();
        return;
      }
      if (call.kind !== 'silent') options.noteTaken();
      options.site.panic(call, (result) => {
        options.answer(envelope, message, result);
        // What is not on disk must come again.
        if (result.outcome === 'done') message.onDone?.();
      });
    },
  };
}

/** What a call cannot do without. Whatever else is wrong in it, somebody needs help. */
const essence = z.object({ id: panicBody.shape.id, kind: panicBody.shape.kind });
const more = panicBody.shape;
const members = ['id', 'kind', 'partition', 'issued_at', 'expires_at'];

function callOf(
  { body, refusal }: LooseCall,
  message: Pick<CommandMessage, 'retained' | 'sender'>,
): PanicCall | Refusal {
  const read = essence.safeParse(body);
  if (!read.success) return refusal ?? { code: 'SCHEMA', field: fieldOf(read.error) };
  const partition = more.partition.safeParse(body.partition).data;
  const issuedAt = timeOf(more.issued_at.safeParse(body.issued_at).data);
  const expiresAt = timeOf(more.expires_at.safeParse(body.expires_at).data);
  return {
    ...read.data,
    ...(partition !== undefined && { partition: partition as NonNullable<PanicCall['partition']> }),
    ...(issuedAt !== undefined && { issuedAt }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(message.retained && { retained: true }),
    source: 'lan',
    client: provenClient(message.sender),
  };
}

function timeOf(text: string | undefined): number | undefined {
  const wall = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(wall) ? undefined : wall;
}

/** Calls for help wait for nothing (safety 1): those of clients, and those of Home Assistant. */
export const asksHelp = (
  root: string,
  { topic, payload }: { readonly topic: string; readonly payload: string | Buffer },
): boolean => topic === `${root}/cmd/panic` || (topic.startsWith(`${root}/cmd/ha/`) && payload.includes('TRIGGER'));
