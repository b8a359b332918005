import { createTurn } from '#lib/turns.ts';
import type { DeviceRef } from '#site/model/index.ts';
import { createChannelBook } from './channel-book.ts';
import { type Counts, createEngine, type Surroundings } from './engine.ts';
import type { NvrOptions } from './options.ts';
import { channelPlace } from './picture-places.ts';
import { placeMemory } from './place-memory.ts';
import { shownBy, type Unit } from './unit.ts';
import { createView } from './view.ts';

/** A recorder: one session, one subscription, one clock, one account; each channel is a camera of its own. */
export function createNvrUnit(nvr: NvrOptions, around: Surroundings, counts: Counts): Unit {
  const source: DeviceRef = { kind: 'nvr', id: nvr.id };
  const memory = placeMemory(around.memory, nvr);
  const engine = createEngine(source, nvr, { ...around, memory });
  const { reads } = engine;
  const book = createChannelBook({
    nvr,
    reads,
    memory,
    clock: around.clock,
    log: around.log.child({ nvr: nvr.id }),
    timing: around.timing,
    isUp: () => session.up,
  });
  // Recorders take a second or more for a picture, and get slower when asked for several.
  const turn = createTurn();
  const channels = nvr.channels.map((channel) => ({
    id: channel.id,
    name: channel.name,
    view: createView(engine, channelPlace(engine, book, channel.id), channel, turn),
  }));
  const session = engine.session({ sense: book, counts, heard: book.heard, online: () => void prepare() });

  /** One thing after the other; what fails is asked for again when it is needed. */
  async function prepare(): Promise<void> {
    for (const { view } of channels) await view.prepare();
  }

  engine.beside(book.run);

  function status() {
    const facts = engine.facts();
    const hints = [...(facts.hints ?? []), ...book.hints()];
    return {
      kind: 'nvr' as const,
      id: nvr.id,
      ...(nvr.name !== undefined && { name: nvr.name }),
      host: engine.host,
      ...session.status(),
      ...facts,
      channels: channels.map(({ id, name, view }) => ({
        ...book.status(id),
        ...(name !== undefined && { name }),
        ...view.known(),
      })),
      ...(hints.length > 0 && { hints }),
    };
  }

  return {
    id: nvr.id,
    cameras: channels.map(({ id, view }) => ({ id, ...shownBy(view, engine), status })),
    get up() {
      return session.up;
    },
    status,
    recent: engine.recent,
    certificate: engine.certificate,
    trust: engine.trust,
    trustDevice: engine.trustDevice,
    start: engine.start,
    async stop() {
      for (const { view } of channels) view.close();
      await engine.stop();
    },
  };
}
