import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectAsync } from 'mqtt';
import { type SimCamera, startCamera } from '#sandbox/cameras/index.ts';
import { takePicture } from '#sandbox/cameras/picture.ts';
import type { Plant } from '#sandbox/demo/line.ts';
import { type SimPanel, type SimSensors, startPaiPanel, startZigbeeSensors } from '#sandbox/panel/index.ts';
import { startCamera as startScripted } from '../devices/onvif/scripted-camera.ts';
import { person, type RecorderModel, recorderChannel, recorderModel } from '../devices/onvif/scripted-nvr.ts';
import { cameraPassword, type Site, startSite } from '../harness/site.ts';
import { type ClockStep, wallClock } from '../harness/wall-clock.ts';
import type { Order } from './history.ts';
import { startTexecom, type Texecom } from './texecom.ts';
import { registerSite, verifying } from './verifications.ts';
import { cameraIds, worldYaml, yardCameras } from './world-yaml.ts';

/** The whole site with all that stands on it. */
export interface World {
  readonly site: Site;
  readonly cameras: ReadonlyMap<string, SimCamera>;
  readonly sensors: SimSensors;
  readonly warehouse: SimPanel;
  readonly store: Texecom;
  /** A person in sight of a channel of the recorder, or nobody. */
  channel(number: number, isSeen: boolean): void;
  /** What the panels were told, as heard on their own topics. */
  readonly orders: readonly Order[];
  /** How the daemon's clock was set. */
  readonly clockSteps: readonly ClockStep[];
  /** The true time there, wall clock milliseconds. */
  now(): number;
  /** Moves the time of the world by so much: the cloud, the cameras and the daemon go along. */
  passTime(ms: number): Promise<void>;
  /** The daemon's clock is wrong by so much, seconds; 0 when somebody has set it. */
  setError(seconds: number): void;
  close(): Promise<void>;
}

export async function startWorld(options: {
  program: string;
  broker: 'mosquitto' | 'embedded';
  stateDir?: string;
  /** The true time there when it begins. */
  startsAt: number;
  onLog: (line: string) => void;
  httpPort: number;
  clockFolder: string;
  plant?: Plant;
  /** See `worldYaml`. */
  media?: string;
  /** See `SiteOptions`. */
  under?: readonly string[];
  /** Whether the cameras' subscriptions outlive the passing of time, so that siteward does not wait longer and longer for them. */
  keepsSubscriptions?: boolean;
  env?: Readonly<Record<string, string>>;
  nodeFlags?: readonly string[];
}): Promise<World> {
  const { keepsSubscriptions = false } = options;
  const ends: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end().catch(() => undefined);
  };
  try {
    let aheadMs = options.startsAt - Date.now();
    let errorS = 0;
    const clock = wallClock(options.clockFolder, aheadMs / 1000);
    const setClock = () => clock.set(aheadMs / 1000 + errorS);

    const cameras = new Map<string, SimCamera>();
    for (const id of cameraIds) {
      // Those of the yard must be let in whenever they see somebody: digest asks for no time, as the others do.
      const auth = Object.values(yardCameras).includes(id) ? 'digest' : 'both';
      const started = await startCamera({ id, password: cameraPassword, clockSkewMs: aheadMs, auth });
      ends.push(() => started.close());
      cameras.set(id, started);
    }
    const channels = Array.from({ length: 8 }, (_, at) => {
      const scene = { counter: at + 1, timeMs: options.startsAt, person: true, motion: false, tampered: false };
      return recorderChannel(at + 1, { picture: takePicture({ id: `r${at + 1}`, ...scene }) });
    });
    const model: RecorderModel = recorderModel({ holdMs: 200, channels });
    const recorder = await startScripted(model.script);
    ends.push(() => recorder.close());
    const horn = await startHorn();
    ends.push(horn.stop);

    const tellCloud = (of: Pick<Site, 'cloud'>) =>
      of.cloud.control('clock', { method: 'POST', body: { offset_s: aheadMs / 1000 } });
    const site = await startSite({
      ...{ broker: options.broker, program: options.program, tls: true, onLog: options.onLog },
      ...(options.stateDir !== undefined && { stateDir: options.stateDir }),
      ...(options.plant !== undefined && { plant: options.plant }),
      ...(options.under !== undefined && { under: options.under }),
      ...(options.nodeFlags !== undefined && { nodeFlags: options.nodeFlags }),
      async prepare(cloud) {
        await tellCloud({ cloud });
        await registerSite(cloud);
      },
      ...{ siteYaml: verifying.siteYaml, cloudYaml: verifying.cloudYaml },
      mqttYaml: `, home_assistant: {}${options.broker === 'embedded' ? verifying.mqttYaml : ''}`,
      httpYaml: `, listen: "127.0.0.1:${options.httpPort}"`,
      env: { ...options.env, ...clock.env, ...verifying.env },
      yaml: (at) =>
        worldYaml({
          ...{ at, recorder: recorder.url, speaker: horn.url },
          ...(options.media !== undefined && { media: options.media }),
          cameras: new Map([...cameras].map(([id, { deviceUrl }]) => [id, deviceUrl])),
        }),
    });
    ends.push(site.close);

    const url = site.mqttUrl;
    const { orders, end } = await hearOrders(url);
    ends.push(end);
    const sensors = await startZigbeeSensors({
      url,
      devices: [
        ...['shop_door', 'shop_window', 'office_door', 'office_window', 'kiosk_hatch'].map(
          (name) => ({ name, kind: 'contact' }) as const,
        ),
        { name: 'shop_smoke', kind: 'smoke' },
        { name: 'office_water', kind: 'water_leak' },
      ],
    });
    ends.push(sensors.stop);
    const warehouse = await startPaiPanel({
      url,
      partitions: [{ key: 'Warehouse', exitDelayMs: 500, entryDelayMs: 500 }],
      zones: ['Gate', 'Ramp'].map((key) => ({ key, partition: 'Warehouse' })),
    });
    ends.push(warehouse.stop);
    const store = await startTexecom({
      url,
      partitions: [{ key: 'store', exitDelayMs: 500 }],
      zones: ['51', '52'].map((key) => ({ key, partition: 'store' })),
    });
    ends.push(store.stop);

    return {
      ...{ site, cameras, sensors, warehouse, store, orders, close },
      clockSteps: clock.steps,
      channel: (number, isSeen) => void model.queue.push(person(number, isSeen)),
      now: () => Date.now() + aheadMs,
      async passTime(ms) {
        aheadMs += ms;
        setClock();
        for (const camera of cameras.values()) camera.setClockSkew(aheadMs, { keepsSubscriptions });
        await tellCloud(site);
      },
      setError(seconds) {
        errorS = seconds;
        setClock();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const orderTopics: Readonly<Record<string, string>> = {
  'paradox/control/partitions/Warehouse': 'p4',
  'texecom2mqtt/area/store/command': 'p5',
};

async function hearOrders(url: string): Promise<{ orders: readonly Order[]; end: () => Promise<void> }> {
  const orders: Order[] = [];
  const client = await connectAsync(url, { clientId: 'order-book', clean: true, reconnectPeriod: 100 });
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    orders.push({ partition: orderTopics[topic] ?? '', verb: payload.toString(), at: Date.now() });
  });
  await client.subscribeAsync(Object.keys(orderTopics), { qos: 1 });
  return { orders, end: () => client.endAsync(true) };
}

/** A loudspeaker on the network that takes whatever is sent. */
async function startHorn(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('error', () => undefined);
    request.once('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
