import { afterEach, describe, expect, it } from 'vitest';
import { Secret } from '#lib/secret.ts';
import { createTurn } from '#lib/turns.ts';
import { harness, links, until } from './harness.ts';
import {
  type CameraModel,
  cameraModel,
  checkDigest,
  checkToken,
  fault,
  type Reply,
  type Seen,
  startCamera,
  tinyJpeg,
} from './scripted-camera.ts';

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

const login = { username: 'u', password: new Secret('secret-word') };
const forever = new AbortController().signal;

async function yard(change: Partial<CameraModel> = {}, more = {}) {
  const model = cameraModel(change);
  const server = await startCamera(model.script);
  const made = harness([{ id: 'yard', url: server.url, ...login, ...more }]);
  await made.cameras.start(forever);
  opened.push({ stop: () => server.close() }, made.cameras);
  await until(() => links(made.signals).includes(true), 'the link');
  const pictures = () => server.seen.filter((one) => one.operation === '');
  return { model, server, made, pictures, take: () => made.cameras.snapshot('yard', forever) };
}

/** Answers picture requests only. */
const pictured = (reply: (request: Seen) => Reply | undefined): NonNullable<CameraModel['before']> => {
  return (request) => (request.operation === '' ? reply(request) : undefined);
};

describe('a picture', () => {
  it('is a checked JPEG, from the repaired address, which is learned once', async () => {
    const { server, take, pictures, made } = await yard({ picture: Uint8Array.from([...tinyJpeg(), 0, 0, 0]) });
    const before = Date.now();
    const picture = await take();
    expect(Buffer.from(picture.bytes)).toEqual(Buffer.from(tinyJpeg()));
    expect(picture.mime).toBe('image/jpeg');
    expect(picture.takenAt).toBeGreaterThanOrEqual(before);
    await take();
    expect(pictures().map((one) => one.path)).toEqual(['/picture.jpg', '/picture.jpg']);
    expect(server.count('GetSnapshotUri')).toBe(1);
    await until(() => made.cameras.status()[0]?.stream !== undefined, 'the stream address');
    expect(made.cameras.status()[0]).toMatchObject({ profiles: 2, stream: 'rtsp://127.0.0.1/live' });
  });

  it('is shared by those who ask at the same time', async () => {
    const { take, pictures } = await yard();
    const all = await Promise.all([take(), take(), take()]);
    expect(new Set(all).size).toBe(1);
    expect(pictures().length).toBe(1);
  });

  it('comes behind HTTP digest of its own realm while SOAP uses a UsernameToken', async () => {
    const expected = { user: 'u', password: 'secret-word', realm: 'pics', nonce: 'n1' };
    const { take, pictures } = await yard({
      before: (request) => {
        if (request.operation === '') {
          if (checkDigest(request, expected) === undefined) return undefined;
          return { status: 401, headers: { 'www-authenticate': 'Digest realm="pics", nonce="n1", qop="auth"' } };
        }
        if (request.operation === 'GetSystemDateAndTime') return undefined;
        return checkToken(request.body, 'u', 'secret-word', Date.now()) === undefined
          ? undefined
          : fault('NotAuthorized');
      },
    });
    await take();
    await take();
    expect(pictures().length).toBe(3);
  });

  it('comes behind Basic where the camera offers nothing else, and the password is not sent before it asks', async () => {
    const { take, pictures } = await yard({
      before: pictured((request) => {
        const right = `Basic ${Buffer.from('u:secret-word').toString('base64')}`;
        return request.headers.authorization === right
          ? undefined
          : { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
      }),
    });
    await take();
    expect(pictures().map((one) => one.headers.authorization !== undefined)).toEqual([false, true]);
  });

  it('with a wrong password that the camera always calls stale is tried twice', async () => {
    let tries = 0;
    const { take } = await yard({
      before: pictured((request) => {
        if (request.headers.authorization !== undefined) tries += 1;
        const challenge = `Digest realm="pics", nonce="n${tries}", qop="auth", stale=true`;
        return { status: 401, headers: { 'www-authenticate': challenge } };
      }),
    });
    for (let n = 0; n < 3; n += 1) await expect(take()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(tries).toBe(2);
  });

  it('whose nonce serves once is taken again and again', async () => {
    let nonce = 0;
    const { take } = await yard({
      before: pictured((request) => {
        const expected = { user: 'u', password: 'secret-word', realm: 'pics', nonce: `n${nonce}` };
        const wrong = checkDigest(request, expected);
        nonce += 1;
        if (wrong === undefined) return undefined;
        const stale = request.headers.authorization === undefined ? '' : ', stale=true';
        return {
          status: 401,
          headers: { 'www-authenticate': `Digest realm="pics", nonce="n${nonce}", qop="auth"${stale}` },
        };
      }),
    });
    for (let n = 0; n < 4; n += 1) expect((await take()).bytes.length).toBeGreaterThan(0);
  });

  it('never gets the password in clear from who took a digest before, also after a restart, and is told', async () => {
    let isReal = true;
    const expected = { user: 'u', password: 'secret-word', realm: 'pics', nonce: 'n1' };
    const before = pictured((request) => {
      if (isReal && checkDigest(request, expected) === undefined) return undefined;
      const wanted = isReal ? 'Digest realm="pics", nonce="n1", qop="auth"' : 'Basic realm="pics"';
      return { status: 401, headers: { 'www-authenticate': wanted } };
    });
    const { model, server, take, pictures, made } = await yard({ before });
    await take();
    isReal = false;
    // For a silent event nothing may show (safety 4).
    const silent = () => made.cameras.snapshot('yard', forever, { silent: true });
    await expect(silent()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(made.cameras.status()[0]?.warnings).toEqual([]);
    isReal = true;
    await take();
    isReal = false;
    await expect(take()).rejects.toMatchObject({
      code: 'camera_auth',
      message: expect.stringContaining('basic_login'),
    });
    expect(made.cameras.status()[0]?.warnings).toMatchObject([{ code: 'basic_asked' }]);
    isReal = true;
    await silent();
    expect(made.cameras.status()[0]?.warnings).toMatchObject([{ code: 'basic_asked' }]);
    isReal = false;
    await made.cameras.stop();
    const again = harness([{ id: 'yard', url: server.url, ...login }], { memory: made.memory });
    opened.push(again.cameras);
    await again.cameras.start(forever);
    await until(() => links(again.signals).includes(true), 'the link again');
    await expect(again.cameras.snapshot('yard', forever)).rejects.toMatchObject({ code: 'camera_auth' });
    expect(pictures().filter((one) => String(one.headers.authorization).startsWith('Basic'))).toEqual([]);
    isReal = true;
    await again.cameras.snapshot('yard', forever);
    expect(again.cameras.status()[0]?.warnings).toEqual([]);
    expect(model.made).toBeGreaterThan(1);
  });

  it.each([false, true])(
    'in clear goes to a device that takes a token for its events only if basic_login: %s',
    async (basic_login) => {
      const right = `Basic ${Buffer.from('u:secret-word').toString('base64')}`;
      const { take, pictures } = await yard(
        {
          before: (request) => {
            if (request.operation === '')
              return request.headers.authorization === right
                ? undefined
                : { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
            if (request.operation === 'GetSystemDateAndTime') return undefined;
            const refusal = checkToken(request.body, 'u', 'secret-word', Date.now());
            return refusal === undefined ? undefined : fault('NotAuthorized');
          },
        },
        { basic_login },
      );
      const outcome = await take().catch((error) => error.code);
      if (basic_login) expect(outcome).toMatchObject({ mime: 'image/jpeg' });
      else expect(outcome).toBe('camera_auth');
      expect(pictures().some((one) => one.headers.authorization === right)).toBe(basic_login);
    },
  );

  it('with a wrong password is tried twice, then not at all, and the events go on', async () => {
    const { take, pictures, made } = await yard({
      before: pictured(() => ({
        status: 401,
        headers: { 'www-authenticate': 'Digest realm="x", nonce="n", qop="auth"' },
      })),
    });
    await expect(take()).rejects.toMatchObject({ code: 'camera_auth' });
    await expect(take()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(pictures().filter((one) => one.headers.authorization !== undefined).length).toBe(2);
    expect(made.cameras.health().state).toBe('ok');
  });

  it.each<[string, Reply]>([
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>sorry</html>' }],
    ['half a picture', { body: tinyJpeg().subarray(0, 25) }],
    ['nothing', { body: '' }],
  ])('that is %s is refused as picture_invalid', async (_, reply) => {
    const { take } = await yard({ before: pictured(() => reply) });
    await expect(take()).rejects.toMatchObject({ code: 'picture_invalid' });
  });

  it('without end is cut off at its bound', async () => {
    const { take } = await yard({ before: pictured(() => ({ endless: new Uint8Array(65_536).fill(0xff) })) });
    await expect(take()).rejects.toMatchObject({ code: 'camera_bad_answer' });
  });

  it('that never comes ends at its deadline while events go on, and at once for a caller who leaves', async () => {
    const { server, made } = await yard({ before: pictured(() => ({ hang: true })) });
    const leave = new AbortController();
    const waiting = made.cameras.snapshot('yard', leave.signal);
    const late = made.cameras.snapshot('yard', forever);
    late.catch(() => undefined);
    leave.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    const pulls = server.count('PullMessages');
    await expect(late).rejects.toMatchObject({ code: 'deadline' });
    expect(server.count('PullMessages')).toBeGreaterThan(pulls);
  });

  it('is looked for at a new address after the old one failed', async () => {
    const { model, server, take } = await yard();
    await take();
    model.snapshotPath = '/elsewhere.jpg';
    await expect(take()).rejects.toMatchObject({ code: 'camera_bad_answer', facts: { status: 404 } });
    await take();
    expect(server.count('GetSnapshotUri')).toBe(2);
  });

  it('is taken from the configured address when there is one', async () => {
    const other = await startCamera(() => ({ headers: { 'content-type': 'image/jpeg' }, body: tinyJpeg() }));
    opened.push({ stop: () => other.close() });
    const { take, pictures } = await yard({}, { snapshot_url: `http://127.0.0.1:${other.port}/my.jpg` });
    await take();
    expect(pictures()).toEqual([]);
    expect(other.seen.map((one) => one.path)).toEqual(['/my.jpg']);
  });

  it('is not fetched from another host a camera points to', async () => {
    const { take } = await yard({
      before: pictured(() => ({ status: 302, headers: { location: 'http://localhost:1/x' } })),
    });
    await expect(take()).rejects.toMatchObject({ code: 'camera_bad_answer', facts: { status: 302 } });
  });

  it('follows a redirect on the same host', async () => {
    const paths: string[] = [];
    const { take } = await yard({
      before: pictured(({ path }) => {
        paths.push(path);
        return path === '/picture.jpg' ? { status: 302, headers: { location: '/picture.jpg?2' } } : undefined;
      }),
    });
    await take();
    expect(paths.at(-1)).toBe('/picture.jpg?2');
  });

  it('of a camera that is not configured is an error', async () => {
    const { made } = await yard();
    await expect(made.cameras.snapshot('nowhere', forever)).rejects.toMatchObject({ code: 'camera_unreachable' });
  });

  it('that is missing for another reason tells nothing of the password: two wrong tries stay two', async () => {
    const challenge = { 'www-authenticate': 'Digest realm="r", nonce="n", qop="auth"' };
    const answers = [401, 403, 401, 401, 401];
    let tries = 0;
    const { take } = await yard({
      before: pictured(({ headers }) => {
        if (headers.authorization === undefined) return { status: 401, headers: challenge };
        tries += 1;
        return { status: answers.shift() ?? 401, headers: challenge };
      }),
    });
    await expect(take()).rejects.toMatchObject({ code: 'camera_bad_answer', facts: { status: 403 } });
    await expect(take()).rejects.toMatchObject({ code: 'camera_auth' });
    await expect(take()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(tries).toBe(3);
  });

  it('never puts the password into a status, an error or the metrics', async () => {
    const { take, made } = await yard({ before: pictured(() => ({ status: 500, body: 'x' })) });
    const error = await take().catch((caught) => caught);
    const all = JSON.stringify([
      made.cameras.status(),
      made.cameras.health(),
      error,
      error.message,
      await made.metrics.metrics(),
    ]);
    expect(all).not.toContain('secret-word');
  });
});

it('of a recorder wait for each other, and one that fails holds up nobody', async () => {
  const turn = createTurn();
  const done: string[] = [];
  let release: () => void = () => undefined;
  const first = turn(async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    done.push('first');
    throw new Error('no picture');
  });
  const second = turn(async () => void done.push('second'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([]);
  release();
  await expect(first).rejects.toThrow('no picture');
  await second;
  expect(done).toEqual(['first', 'second']);
});
