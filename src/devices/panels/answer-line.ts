import type { IPublishPacket, MqttClient } from 'mqtt';
import type { Logger } from 'pino';
import { describe } from '#errors.ts';
import type { Signal } from '#site/model/index.ts';
import { answerMs } from './awaited.ts';
import type { Message } from './reading.ts';
import type { Runner } from './runner.ts';
import { narrowest } from './topics.ts';

/**
 * The word with which a panel answers a disarm, heard on the connection the command leaves by. That one has no session: nothing
 * waits in the broker for it, so that what it is told without the mark of a retained message happens now, whatever the broker
 * still holds for the other, and however full the disk is. Otherwise who has the right code could disarm the panel and siteward
 * would never take its word for it, since a panel that is disarmed says so once (I14).
 */
export class AnswerLine {
  readonly #runners: readonly Runner[];
  readonly #emit: (signals: readonly Signal[]) => void;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #heard: { readonly client: MqttClient; readonly filters: Set<string> } | undefined;

  constructor(options: {
    runners: readonly Runner[];
    emit: (signals: readonly Signal[]) => void;
    log: Logger;
  }) {
    this.#runners = options.runners;
    this.#emit = options.emit;
    this.#log = options.log;
  }

  /** Call before the disarm leaves by `client`: a broker takes what comes by one connection in order. */
  expect(client: MqttClient, runner: Runner, key: string): void {
    const rules = runner.built.compiled.rules.filter(({ reads }) => reads.some((read) => read.for === 'partition'));
    const filters = narrowest(rules.map(({ template }) => template));
    if (this.#heard?.client !== client) this.#heard = { client, filters: new Set() };
    for (const filter of filters) this.#heard.filters.add(filter);
    client.subscribe(filters, { qos: 0 }, (error) => {
      if (error) this.#log.debug({ reason: describe(error) }, 'the answer of the panel is heard with all else only');
    });
    runner.awaits(key);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#over(), answerMs);
    this.#timer.unref();
  }

  /** A message on that connection. `waited`: the broker has kept a session that it was not asked for. */
  message(packet: IPublishPacket, message: Message, waited: boolean): void {
    if (waited || packet.retain) return;
    for (const runner of this.#runners) {
      try {
        const signals = runner.answer(message);
        if (signals.length > 0) this.#emit(signals);
      } catch (error) {
        // It comes on the other connection as well, where it is told.
        this.#log.debug({ panel: runner.built.options.id, reason: describe(error) }, 'the answer was not readable');
      }
    }
  }

  #over(): void {
    const { client, filters } = this.#heard ?? {};
    this.#heard = undefined;
    if (client?.connected === true && filters !== undefined) client.unsubscribe([...filters], () => {});
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#heard = undefined;
  }
}
