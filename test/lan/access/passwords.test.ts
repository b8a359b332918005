import { describe, expect, it } from 'vitest';
import { isCommon } from '#lan/access/common-passwords.ts';
import {
  createPasswordHash,
  type Derive,
  hashesAhead,
  hashesWaiting,
  scryptDerive,
} from '#lan/access/password-hash.ts';
import { mustBePassword } from '#lan/access/password-rules.ts';
import { never } from '#lib/wait.ts';

const anna = { id: 'anna', name: 'Anna Meier-Lund' };

function refusal(password: string): string | undefined {
  try {
    mustBePassword(password, anna);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    expect(message).not.toContain(password);
    return message;
  }
}

describe('a password', () => {
  it('has at least ten characters as people count them, and an end', () => {
    expect(refusal('k9!vQ2#xT')).toContain('at least 10');
    expect(refusal('k9!vQ2#xTw')).toBeUndefined();
    expect(refusal('😀🎈🚲🍋🐙🌵🧭🪵🎻')).toContain('at least 10');
    expect(refusal('😀🎈🚲🍋🐙🌵🧭🪵🎻🧲')).toBeUndefined();
    expect(refusal(`k9!vQ2#xTw${'é'.repeat(119)}`)).toContain('at most 128');
  });

  it.each([
    'password12',
    'Password123!',
    'P@ssw0rd2026',
    'passwortpasswort',
    'Willkommen1!',
    'admin12345',
    'AdminAdmin99',
    'welcome2siteward',
    'Alarm-Kamera-1',
    's1teward!!',
    'Sommer2026!!',
    'letmein123',
    'iloveyou2026',
    'qwertzuiop',
    'Qwertyuiop1!',
    'asdfghjkl123',
    '1q2w3e4r5t6z',
    '1qaz2wsx3edc',
    '1234567890',
    '0987654321',
    '12345678901234567890',
    '27.11.1984',
    '+49 170 1234567',
    'abcdefghij',
    'zyxwvutsrq',
    'aaaaaaaaaaaa',
    'abababababab',
    'abcabcabcabc',
    '1122112211',
    'hunter2hunter2',
    'Annameier1984',
    'meierlund!!',
    'ANNA-anna-2026',
    'trustno1trustno1',
    'changeme!!',
    'ＰＡＳＳＷＯＲＤ１２３',
  ])('is refused as one that is tried first: %s', (password) => expect(refusal(password)).toContain('tried first'));

  it.each([
    'correct horse battery staple',
    'Regen fällt auf Blech',
    'k9!vQ2#xTw',
    'zahnrad-tulpe-42',
    'Tr0ub4dor&3x',
    'vier blaue Esel im Keller',
    'mein Haus steht am Fluss',
    'мой кот любит рыбу',
    '我喜欢在雨天喝茶看书吗',
  ])('is taken: %s', (password) => expect(refusal(password)).toBeUndefined());

  it('is compared with what people make of common words: some thousands', () => {
    const stems = [
      'password',
      'admin',
      'welcome',
      'sicherheit',
      'alarm',
      'siteward',
      'dragon',
      'berlin',
      'summer',
      'installer',
    ];
    const endings = ['', '1', '12', '123', '1234', '!', '!!', '2025', '2026', '2026!', '#1', '007', '99'];
    const shapes = [
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => text.charAt(0).toUpperCase() + text.slice(1),
      (text: string) => text.replaceAll('a', '@').replaceAll('s', '$'),
      (text: string) => text.replaceAll('e', '3').replaceAll('o', '0'),
      (text: string) => text.replaceAll('i', '1').replaceAll('a', '4'),
    ];
    const missed = shapes.flatMap((shape) =>
      stems.flatMap((stem) => endings.flatMap((ending) => [stem, stem + stem].map((text) => shape(text) + ending))),
    );
    expect(missed).toHaveLength(1560);
    expect(missed.filter((text) => !isCommon(text))).toEqual([]);
  });

  it('is judged also where it is long: one letter or two again and again are common', () => {
    const long = ['a'.repeat(128), 'ab'.repeat(64), 'passwordx'.repeat(14), 'abcdefghx'.repeat(14)];
    expect(long.map((text) => isCommon(text))).toEqual([true, true, false, false]);
  });
});

describe('the hash of a password', () => {
  it('is scrypt, salted anew each time, and the same for the same letters of another keyboard', async () => {
    const hash = createPasswordHash();
    const [one, other] = [await hash.make('Zahnräder 42', never()), await hash.make('Zahnräder 42', never())];
    expect(one.salt).not.toBe(other.salt);
    expect(one.hash).not.toBe(other.hash);
    expect(await hash.isRight('Zahnräder 42'.normalize('NFD'), one, never())).toBe(true);
    expect(await hash.isRight('Zahnräder 43', one, never())).toBe(false);
    const salt = Buffer.from(one.salt, 'base64url');
    expect((await scryptDerive('Zahnräder 42', salt)).toString('base64url')).toBe(one.hash);
  });

  it('of nobody takes the same work and is never right, zeros neither', async () => {
    let calls = 0;
    const zeros: Derive = async () => {
      calls += 1;
      return Buffer.alloc(32);
    };
    const hash = createPasswordHash(zeros);
    expect(await hash.isRight('anything', undefined, never())).toBe(false);
    expect(calls).toBe(1);
  });

  /** Ends when it is told. */
  function held() {
    const open: (() => void)[] = [];
    let most = 0;
    const derive: Derive = async () => {
      await new Promise<void>((resolve) => {
        open.push(resolve);
        most = Math.max(most, open.length);
      });
      open.shift();
      return Buffer.alloc(32, 1);
    };
    return { derive, end: () => open[0]?.(), most: () => most, running: () => open.length };
  }
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

  it('is made one at a time; eight wait, and what comes beyond is told to come again', async () => {
    const slow = held();
    const hash = createPasswordHash(slow.derive);
    const all = Array.from({ length: hashesWaiting + 4 }, () => hash.isRight('x', undefined, never()));
    const beyond = await Promise.allSettled(all.slice(hashesWaiting + 1));
    for (const one of beyond) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'access_busy' } });
    for (let n = 0; n <= hashesWaiting; n += 1) {
      expect(slow.running()).toBe(1);
      slow.end();
      await settle();
    }
    await Promise.all(all.slice(0, hashesWaiting + 1));
    expect(slow.most()).toBe(1);
    const again = hash.make('x', never());
    await settle();
    slow.end();
    await again;
  });

  it('of those who were in before goes first, though everybody else waits', async () => {
    const slow = held();
    const hash = createPasswordHash(slow.derive);
    const order: string[] = [];
    const ask = (name: string, isAhead: boolean) =>
      hash.isRight(name, undefined, never(), isAhead).then(() => order.push(name));
    const all = [ask('running', false), ...Array.from({ length: hashesWaiting }, (_, n) => ask(`other ${n}`, false))];
    all.push(...Array.from({ length: hashesAhead }, (_, n) => ask(`ahead ${n}`, true)));
    await expect(ask('one more', true)).rejects.toMatchObject({ code: 'access_busy' });
    for (let n = 0; n < all.length; n += 1) {
      await settle();
      slow.end();
    }
    await Promise.all(all);
    expect(order.slice(0, 1 + hashesAhead)).toEqual(['running', 'ahead 0', 'ahead 1', 'ahead 2', 'ahead 3']);
    expect(slow.most()).toBe(1);
  });

  it('that nobody waits for any more leaves the line, and the others go on', async () => {
    const slow = held();
    const hash = createPasswordHash(slow.derive);
    const gone = new AbortController();
    const [first, second, third] = [hash.make('a', never()), hash.make('b', gone.signal), hash.make('c', never())];
    await settle();
    gone.abort(new Error('hung up'));
    await expect(second).rejects.toThrow('hung up');
    slow.end();
    await first;
    await settle();
    slow.end();
    await third;
    expect(slow.most()).toBe(1);
    await expect(hash.make('d', gone.signal)).rejects.toThrow('hung up');
    const last = hash.make('e', never());
    await settle();
    slow.end();
    await last;
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 8, 12])(
    'that is broken off around the moment of its turn hands it on (%i)',
    async (steps) => {
      const slow = held();
      const hash = createPasswordHash(slow.derive);
      const gone = new AbortController();
      const [first, second, third] = [hash.make('a', never()), hash.make('b', gone.signal), hash.make('c', never())];
      const all = Promise.allSettled([first, second, third]);
      await settle();
      slow.end();
      for (let n = 0; n < steps; n += 1) await undefined;
      gone.abort(new Error('hung up'));
      for (let n = 0; n < 3; n += 1) {
        await settle();
        slow.end();
      }
      await all;
      expect(await third).toHaveProperty('hash');
      expect(slow.most()).toBe(1);
      expect(slow.running()).toBe(0);
    },
  );
});
