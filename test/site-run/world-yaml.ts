import { type Addresses, camera } from '../harness/site.ts';
import { verifying } from './verifications.ts';

/** Where the cameras are: number, and what of it is in the configuration beside address and password. */
const cameraNumbers = Array.from({ length: 16 }, (_, at) => at + 1);
export const cameraIds = cameraNumbers.map((number) => `c${String(number).padStart(2, '0')}`);

/** Zones that are cameras: what they see in the armed yard is an alarm. */
export const yardCameras: Readonly<Record<string, string>> = { '31': 'c13', '32': 'c14', '33': 'c15', '34': 'c16' };
/** Zones that are channels of the recorder, by the number of the channel. */
export const yardChannels: Readonly<Record<string, number>> = { '35': 1, '36': 2 };

/** What the configuration of the whole site has beside the cloud, the broker and the store. */
export function worldYaml(of: {
  at: Addresses;
  cameras: ReadonlyMap<string, string>;
  recorder: string;
  speaker: string;
  /** Further members of the section `media`, such as `, keep: 1d`. */
  media?: string;
}): string {
  const zoneOf = new Map(Object.entries(yardCameras).map(([zone, id]) => [id, zone]));
  const camerasYaml = cameraIds.map((id, index) => {
    const zone = zoneOf.get(id);
    const place = ['p1', 'p2', 'p4', 'p5'][index % 4];
    const more =
      zone === undefined ? `partition: ${place}` : `zone: "${zone}", zone_type: video_person_perimeter, partition: p3`;
    return camera(id, of.cameras.get(id), more);
  });
  const channels = Array.from({ length: 8 }, (_, at) => {
    const zone = Object.entries(yardChannels).find(([, number]) => number === at + 1)?.[0];
    const more = zone === undefined ? '' : `, zone: "${zone}", zone_type: video_person_perimeter, partition: p3`;
    return `      - { id: r${at + 1}, source: VideoSource_${at + 1}${more} }`;
  });
  return `
partitions:
  - { id: p1, name: Shop, exit_delay: 1s, entry_delay: 2s }
  - { id: p2, name: Office, exit_delay: 0s, entry_delay: 0s }
  - { id: p3, name: Yard, exit_delay: 0s, entry_delay: 0s }
  - { id: p4, name: Warehouse }
  - { id: p5, name: Store }
  - { id: p6, name: Kiosk, exit_delay: 0s, entry_delay: 0s }
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "11": { type: entry_exit_1, name: Shop door, key: shop_door, partition: p1, cameras: [c01] }
      "12": { type: perimeter, name: Shop window, key: shop_window, partition: p1, cameras: [c02] }
      "13": { type: fire, name: Shop smoke, key: shop_smoke, partition: p1, cameras: [c01] }
      "21": { type: perimeter, name: Office door, key: office_door, partition: p2, cameras: [c03] }
      "22": { type: perimeter, name: Office window, key: office_window, partition: p2, cameras: [c04] }
      "23": { type: water, name: Office water, key: office_water, partition: p2 }
      "61": { type: perimeter, name: Kiosk hatch, key: kiosk_hatch, partition: p6, cameras: [c07] }
  - id: warehouse
    profile: pai
    partitions: { p4: Warehouse }
    zones:
      "41": { type: perimeter, name: Gate, key: Gate, partition: p4, cameras: [c05] }
      "42": { type: perimeter, name: Ramp, key: Ramp, partition: p4 }
  - id: store
    profile: texecom2mqtt
    partitions: { p5: store }
    zones:
      "51": { type: perimeter, name: Store door, key: "51", partition: p5, cameras: [c06] }
      "52": { type: perimeter, name: Store window, key: "52", partition: p5 }
cameras:
${camerasYaml.join('\n')}
nvrs:
  - id: rec
    url: ${of.recorder}
    channels:
${channels.join('\n')}
media: { snapshots: 1${of.media ?? ''} }
${verifying.yaml}speakers:
  - { id: shop-speaker, driver: capture, folder: "${of.at.folder}/heard", partitions: [p1] }
  - { id: office-speaker, driver: "null", partitions: [p2] }
  - { id: yard-horn, driver: http, push: { url: "${of.speaker}/push" }, status: { url: "${of.speaker}/status" }, partitions: [p3] }
  - { id: gate-speaker, driver: command, command: ["/bin/sh", "-c", "cat > /dev/null; sleep 0.5"], partitions: [p4] }
rules:
  - { id: intruder, on: { class: alarm }, cool_down: 2s, play: { message: alarm.siren } }
  - { id: leaving, on: { kind: armed_away }, cool_down: 2s, play: { message: announcement.chime } }
supervision: { cloud: { heartbeat: 10s } }
schedules:
  - { id: night, days: [daily], at: "22:00", arm: { partitions: [p6] } }
  - { id: morning, days: [daily], at: "06:00", disarm: { schedule: night } }
`;
}
