import type { Logger } from 'pino';
import { publicOperationsFor } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { type ErrorCode, isCode } from '#errors.ts';
import type { DispatchOutcome, DispatchRequest, SitePort } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import type { Asker } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import { cloudClient } from './cloud.ts';

/** For the answer of one try. */
const deadlineMs = 15_000;
/** Tries that never left this machine included; it must end before the two minutes after which nobody waits. */
const longestMs = 100_000;
const notLeft: readonly ErrorCode[] = ['cloud_unreachable'];
const refused: readonly ErrorCode[] = ['cloud_refused', 'cloud_forbidden', 'cloud_unauthorized', 'cloud_not_found'];

/** `by`: whoever asks over the LAN API; over MQTT its client. */
export type Dispatch = (
  ...asked: [...Parameters<NonNullable<SitePort['dispatch']>>, by?: Asker]
) => Promise<DispatchOutcome>;

/**
 * Asks the service to send somebody to this site; undefined where it is not said that it takes such a request
 * (`dialect.public_paths`) or no key for it is there. Nothing is kept, and nothing that has left is repeated: what did not leave is told at once.
 */
export function dispatcher(options: {
  readonly settings: () => Settings;
  readonly clock: Clock;
  readonly quality: ClockQualityWatch;
  readonly log: Logger;
  readonly note: Note;
}): Dispatch | undefined {
  const { cloud, site } = options.settings();
  if (cloud?.api_key === undefined) return undefined;
  if (publicOperationsFor(cloud.dialect).dispatchResponder === undefined) return undefined;
  return async (request, signal, by = { source: 'lan', client: request.client }) => {
    const outcome = await ask(request, signal);
    void options.note(auditNotes.dispatch(by, request.kind, outcome.kind));
    return outcome;
  };

  async function ask(
    { kind, partition, eventId, note }: DispatchRequest,
    signal: AbortSignal,
  ): Promise<DispatchOutcome> {
    if (cloud === undefined) return { kind: 'refused' };
    const about = [
      kind,
      ...(partition === undefined ? [] : [`partition ${partition}`]),
      ...(eventId === undefined ? [] : [`event ${eventId}`]),
    ].join(', ');
    // One for each request: it has no metrics of its own.
    const client = cloudClient(cloud, { clock: options.clock, quality: options.quality, log: options.log });
    try {
      const { value } = await client.manage.dispatchResponder({
        params: { site_id: site.id },
        body: {
          reason: note === undefined ? about : `${about}: ${note}`,
          responder: kind === 'guard' ? 'guard' : 'responder',
        },
        signal: AbortSignal.any([signal, AbortSignal.timeout(longestMs)]),
        deadlineMs,
      });
      const dispatchId = value.data?.dispatch_id;
      return { kind: 'requested', ...(dispatchId !== undefined && { dispatchId }) };
    } catch (error) {
      const is = (codes: readonly ErrorCode[]) => codes.some((code) => isCode(error, code));
      if (is(notLeft)) return { kind: 'offline' };
      return { kind: is(refused) ? 'refused' : 'unknown' };
    } finally {
      await client.close();
    }
  }
}
