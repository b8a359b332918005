import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { describe, isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import { type AskResult, isoTime, unknownClient } from '#site/model/index.ts';
import { addressOf, capped } from './commands.ts';
import type { CommandMessage } from './parse.ts';
import { type Envelope, fieldOf, idShape, type Refusal, readObject } from './parse.ts';
import { type Reply, verificationIn } from './schemas.ts';
import type { SitePort } from './site-port.ts';

export interface IntakeOptions {
  readonly root: string;
  readonly site: Pick<SitePort, 'verifications'>;
  readonly publish: (topic: string, payload: string, correlationData: Buffer | undefined) => void;
  /** Clears a retained request. */
  readonly clear: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Requests that are being written at a time. */
const atOnce = 32;
const perSecond = 20;

/**
 * Requests to verify an alarm from the partner platform (`in/verification`). Everything that is wrong with one ends in a
 * reply and a count. Never throws.
 */
export function createIntake(options: IntakeOptions): { take(message: CommandMessage): void } {
  const { root, site, clock, log } = options;
  const rate = rateLimit({ clock, burst: perSecond, perSecond, cap: 1 });
  let underWay = 0;
  const counted = new Counter({
    name: 'siteward_mqtt_intake_total',
    help: 'Requests to verify an alarm from MQTT, by what became of them',
    labelNames: ['result'],
    registers: [options.metrics],
  });

  function reply(message: CommandMessage, envelope: Envelope, body: Pick<Reply, 'outcome' | 'error' | 'data'>): void {
    counted.inc({ result: body.error?.code ?? body.outcome });
    const { topic } = addressOf(root, envelope, message.sender);
    const { id, correlation } = envelope;
    const told: Reply = {
      id,
      ...(correlation === undefined ? {} : { correlation }),
      ...body,
      at: isoTime(clock.wall()),
      final: true,
    };
    options.publish(topic, capped(told), message.correlationData);
  }

  function refuse(message: CommandMessage, envelope: Envelope, { code, field }: Refusal): void {
    log.warn({ reply_code: code, field }, 'a request to verify an alarm was refused');
    reply(message, envelope, { outcome: 'refused', error: { code, ...(field === undefined ? {} : { field }) } });
  }

  async function ask(message: CommandMessage, envelope: Envelope, body: Record<string, unknown>): Promise<void> {
    const read = verificationIn.safeParse(body);
    if (!read.success) return refuse(message, envelope, { code: 'SCHEMA', field: fieldOf(read.error) });
    const { id: _, reply_to: __, correlation: ___, ...request } = read.data;
    const client = message.sender?.proven === true ? message.sender.client : unknownClient;
    const result: AskResult = await site.verifications.ask(request, { source: 'lan', client });
    if ('code' in result) return refuse(message, envelope, result);
    const { outcome, document: verification, warning } = result;
    reply(message, envelope, { outcome, data: { verification, ...(warning === undefined ? {} : { warning }) } });
  }

  return {
    take(message) {
      if (message.payload.length === 0) return;
      if (message.retained) options.clear();
      const found = readObject(message);
      if (found.kind === 'empty') return;
      // Without an id of its own the reply goes under that of the verification, which is an id all the same.
      const named = found.kind === 'object' ? found.body.verification_id : undefined;
      const { envelope: read } = found;
      const isUuid = typeof named === 'string' && idShape.test(named);
      const envelope = read.id === null && isUuid ? { ...read, id: named } : read;
      if (found.kind === 'refused') return refuse(message, envelope, found.refusal);
      if (!rate.take('platform')) return refuse(message, envelope, { code: 'RATE_LIMITED' });
      if (underWay >= atOnce) return refuse(message, envelope, { code: 'BUSY' });
      underWay += 1;
      ask(message, envelope, found.body)
        .catch((error: unknown) => {
          const busy = isCode(error, 'store_failed') || isCode(error, 'store_unavailable') || isCode(error, 'stopped');
          log.error({ reason: describe(error) }, 'a request to verify an alarm could not be kept');
          reply(message, envelope, { outcome: 'failed', error: { code: busy ? 'BUSY' : 'INTERNAL' } });
        })
        .finally(() => {
          underWay -= 1;
        });
    },
  };
}
