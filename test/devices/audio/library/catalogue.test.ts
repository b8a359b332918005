import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchCatalogue } from '#devices/audio/library/catalogue.ts';
import type { Message } from '#devices/audio/library/message.ts';
import { audioMessageShown, type CloudMessage } from '#site/model/index.ts';

const words = { name: 'Intruder', description: '', duration_seconds: 3, language: 'en-US', category: 'alarm' } as const;
const cloud = (audio_message_id: string): CloudMessage => ({ audio_message_id, ...words });
const ours = (key: string, audio_message_id?: string): Message => ({
  key,
  ...words,
  sha256: 'a'.repeat(64),
  peak_db: -1,
  rms_db: -12,
  source: 'imported',
  ...(audio_message_id !== undefined && { audio_message_id }),
});

describe('matching messages to those of the service', () => {
  it('takes the one that was said to stand for an id', () => {
    const { find, shown } = matchCatalogue([cloud('msg-1')], [ours('alarm.intruder', 'msg-1')]);
    expect(find('msg-1')).toMatchObject({ where: 'here', message: { key: 'alarm.intruder' } });
    expect(find('alarm.intruder')).toMatchObject({ where: 'here', message: { key: 'alarm.intruder' } });
    expect(shown).toHaveLength(1);
    expect(shown[0]).toMatchObject({ audio_message_id: 'msg-1', key: 'alarm.intruder', source: 'imported' });
  });

  it('takes the one whose key is the id', () => {
    const { find, shown } = matchCatalogue([cloud('msg-1')], [ours('msg-1')]);
    expect(find('msg-1')?.where).toBe('here');
    expect(shown).toHaveLength(1);
  });

  it('never takes one because names, lengths and languages are alike', () => {
    const { find, shown } = matchCatalogue([cloud('msg-1')], [ours('alarm.intruder')]);
    expect(find('msg-1')).toMatchObject({ where: 'cloud' });
    expect(shown.map(({ key, source }) => [key, source])).toEqual([
      ['alarm.intruder', 'imported'],
      ['msg-1', 'cloud'],
    ]);
  });

  it('what was said goes before a key', () => {
    const { find, shown } = matchCatalogue([cloud('msg-1')], [ours('msg-1'), ours('other', 'msg-1')]);
    expect(find('msg-1')).toMatchObject({ where: 'here', message: { key: 'other' } });
    expect(shown.map(({ key, audio_message_id }) => [key, audio_message_id])).toEqual([
      ['msg-1', 'msg-1'],
      ['other', 'msg-1'],
    ]);
  });

  it('an id the service does not list any more is stale, and the message goes by its key', () => {
    const { find, shown, stale } = matchCatalogue([cloud('msg-2')], [ours('alarm.intruder', 'msg-1')]);
    expect(stale).toEqual(['alarm.intruder']);
    expect(find('msg-1')).toBeUndefined();
    expect(shown[0]?.audio_message_id).toBe('alarm.intruder');
  });

  it('while the list is unknown, what was said counts', () => {
    const { find, stale } = matchCatalogue(undefined, [ours('alarm.intruder', 'msg-1')]);
    expect(find('msg-1')).toMatchObject({ where: 'here', message: { key: 'alarm.intruder' } });
    expect(stale).toEqual([]);
  });

  it('gives what only the service holds a key of its own', () => {
    const list = [cloud('Message Ä/1'), cloud('message-a-1'), cloud('???'), cloud('x'.repeat(80))];
    const { shown, find } = matchCatalogue(list, [ours('cloud')]);
    expect(shown.map(({ key }) => key)).toEqual(['cloud', 'cloud-2', 'message-a-1', 'message-a-1-2', 'x'.repeat(64)]);
    for (const { key, source } of shown) expect(find(key)?.where).toBe(source === 'cloud' ? 'cloud' : 'here');
    expect(find('nothing')).toBeUndefined();
  });

  it('shows each message once and by a key of its own, whatever the lists', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'D', 'd', 'e f', 'e-f');
    const own = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e-f'), id: fc.option(name, { nil: undefined }) });
    const lists = fc.tuple(
      fc.option(fc.array(name, { maxLength: 8 }), { nil: undefined }),
      fc.uniqueArray(own, { selector: ({ key }) => key }),
    );
    fc.assert(
      fc.property(lists, ([ids, mine]) => {
        const messages = mine.map(({ key, id }) => ours(key, id));
        const { shown, find } = matchCatalogue(ids?.map(cloud), messages);
        expect(new Set(shown.map(({ key }) => key)).size).toBe(shown.length);
        for (const one of shown) audioMessageShown.parse(one);
        for (const key of mine.map((one) => one.key)) expect(shown.filter((one) => one.key === key)).toHaveLength(1);
        for (const id of ids ?? []) {
          const found = find(id);
          expect(found).toBeDefined();
          // What is played for an id is what it is shown as, or what the service plays.
          if (found?.where === 'cloud') expect(found.message.audio_message_id).toBe(id);
          else expect([found?.message.audio_message_id, found?.message.key]).toContain(id);
        }
      }),
      { numRuns: 500 },
    );
  });
});
