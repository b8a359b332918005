import type { DetectionClass } from '#site/model/index.ts';

/**
 * What one topic means. Patterns are compared with the normalised topic (see `notification.ts`): the ONVIF prefix dropped, vendor prefixes
 * kept. `?:Name` takes any vendor's segment of that name, `*` one segment, a `**` at the end the rest. First match wins.
 */
export interface TopicRow {
  readonly topic: string;
  /**
   * state: on and off, by a truth word. pulse: each message is one event. classes: a list of what is in view, empty when
   * nothing is. changed: an event when the value differs from the last one. ignored: known, and nothing for siteward.
   */
  readonly kind: 'state' | 'pulse' | 'classes' | 'changed' | 'ignored';
  readonly detection?: DetectionClass;
  /** Names of the data item that holds the value, best first. Never by position. */
  readonly data?: readonly string[];
  /** The data item's name tells the class (Tapo). */
  readonly byData?: Readonly<Record<string, DetectionClass>>;
  /** An item whose value tells the class: the rule's name (AcuSense), or a list of object classes (Axis). */
  readonly byValue?: { readonly item: string; readonly classes: Readonly<Record<string, DetectionClass>> };
  /** Items that tell one thing from another of the same class: inputs, relays, disks. Others are merged by class. */
  readonly token?: readonly string[];
  /** After so long without "off" the state counts as unknown. Only for what cannot last. */
  readonly maxOnMs?: number;
}

const seconds = 1000;
const minutes = 60 * seconds;

type More = Omit<TopicRow, 'topic' | 'kind' | 'detection' | 'data'>;
const state = (topic: string, detection: DetectionClass, data: string, more: More = {}): TopicRow => ({
  topic,
  kind: 'state',
  detection,
  data: data.split(' '),
  ...more,
});
const pulse = (topic: string, detection: DetectionClass, more: More = {}): TopicRow => ({
  topic,
  kind: 'pulse',
  detection,
  ...more,
});
const ignored = (topic: string): TopicRow => ({ topic, kind: 'ignored' });

const lasting = { maxOnMs: 10 * minutes };
const shortly = { maxOnMs: 2 * minutes };

/** Words for object classes, lower case, as devices and the standard write them. */
export const objectClasses: Readonly<Record<string, DetectionClass>> = {
  human: 'person',
  person: 'person',
  people: 'person',
  face: 'face',
  humanface: 'face',
  vehicle: 'vehicle',
  vehical: 'vehicle',
  car: 'vehicle',
  truck: 'vehicle',
  bus: 'vehicle',
  bike: 'vehicle',
  bicycle: 'vehicle',
  motorcycle: 'vehicle',
  licenseplate: 'vehicle',
  animal: 'animal',
  pet: 'animal',
  dog: 'animal',
  cat: 'animal',
  package: 'package',
};

const core: readonly TopicRow[] = [
  state('VideoSource/MotionAlarm', 'motion', 'State IsMotion', lasting),
  state('RuleEngine/CellMotionDetector/Motion', 'motion', 'IsMotion State Value', lasting),
  state('RuleEngine/MotionRegionDetector/Motion', 'motion', 'State IsMotion', lasting),
  state('RuleEngine/TamperDetector/Tamper', 'tamper', 'IsTamper State'),
  state('RuleEngine/FieldDetector/ObjectsInside', 'intrusion', 'IsInside State', {
    byValue: { item: 'Rule', classes: objectClasses },
    maxOnMs: 5 * minutes,
  }),
  pulse('RuleEngine/LineDetector/Crossed', 'line'),
  ignored('RuleEngine/CountAggregation/Counter'),
  pulse('RuleEngine/LoiteringDetector/**', 'loitering'),
  pulse('RuleEngine/*/ObjectAbandoned', 'object_left'),
  pulse('RuleEngine/*/Abandoned', 'object_left'),
  pulse('RuleEngine/*/ObjectRemoved', 'object_removed'),
  pulse('RuleEngine/*/Removed', 'object_removed'),
  pulse('RuleEngine/Recognition/LicensePlate', 'vehicle'),
  pulse('RuleEngine/Recognition/Face', 'face'),
  { topic: 'RuleEngine/ObjectDetection/Object', kind: 'classes', data: ['ClassTypes'], ...lasting },
  state('VideoSource/GlobalSceneChange/*', 'tamper', 'State'),
  state('VideoSource/ImageTooDark/*', 'image_quality', 'State'),
  state('VideoSource/ImageTooBright/*', 'image_quality', 'State'),
  state('VideoSource/ImageTooBlurry/*', 'image_quality', 'State'),
  state('VideoSource/SignalLoss', 'video_loss', 'State'),
  state('VideoSource/SignalLoss/*', 'video_loss', 'State'),
  state('VideoSource/ImpairedVisibility', 'image_quality', 'State'),
  state('AudioAnalytics/Audio/DetectedSound', 'sound', 'IsSoundDetected State', shortly),
  state('Device/Trigger/DigitalInput', 'input', 'LogicalState State', { token: ['InputToken', 'Token', 'Source'] }),
  state('VideoSource/Device/Trigger/DigitalInput', 'input', 'LogicalState State', { token: ['InputToken'] }),
  state('Device/Trigger/Relay', 'relay', 'LogicalState State', { token: ['RelayToken', 'RelayOutputToken'] }),
  state('Device/Trigger/?:AlarmIn', 'input', 'State LogicalState', { token: ['AlarmInToken'] }),
  state('Device/HardwareFailure/StorageFailure', 'storage_fault', 'Failed disruption', { token: ['Token', 'disk_id'] }),
  state('Device/HardwareFailure/FanFailure', 'hardware_fault', 'Failed', { token: ['Token'] }),
  state('Device/HardwareFailure/PowerSupplyFailure', 'hardware_fault', 'Failed', { token: ['Token'] }),
  state('Device/HardwareFailure/PowerSupplyFailure/*', 'hardware_fault', 'Failed', { token: ['Token'] }),
  state('Device/HardwareFailure/TemperatureCritical', 'hardware_fault', 'Critical Failed', { token: ['Token'] }),
  pulse('Device/HardwareFailure/?:HardDiskFull', 'storage_fault', { token: ['HardDiskNo'] }),
  pulse('Device/HardwareFailure/?:HardDiskError', 'storage_fault', { token: ['HardDiskNo'] }),
  pulse('Device/HardwareFailure/?:HardDiskUnformat', 'storage_fault', { token: ['HardDiskNo'] }),
  state('Device/HardwareFailure', 'hardware_fault', 'State Failed'),
  pulse('Device/?:Network/EthernetBroken', 'network_fault'),
  pulse('Device/?:Network/IPAddrConflict', 'network_fault'),
  pulse('UserAlarm/?:IllegalAccess', 'access'),
  pulse('Device/SecurityPolicy/AuthFailed', 'access'),
  pulse('Device/OperationMode/ShutdownInitiated', 'system'),
  pulse('Device/OperationMode/UploadInitiated', 'system'),
  { topic: 'Monitoring/OperatingTime/LastReboot', kind: 'changed', detection: 'system', data: ['Status'] },
  ignored('Monitoring/**'),
  state('RecordingConfig/JobState', 'recording', 'State', { token: ['RecordingJobToken'] }),
  state('RecordingHistory/Recording/State', 'recording', 'IsRecording', { token: ['RecordingToken'] }),
  ignored('RecordingHistory/Track/State'),
  ignored('Media/ProfileChanged'),
  ignored('Media/ConfigurationChanged'),
  ignored('Configuration/**'),
  ignored('MediaControl/VideoEncoderConfiguration'),
  pulse('AccessControl/**', 'access'),
  pulse('Door/**', 'access'),
  pulse('Credential/**', 'access'),
  ignored('EventBuffer/Begin'),
];

const tapoData: TopicRow['byData'] = {
  IsPeople: 'person',
  IsVehicle: 'vehicle',
  IsPet: 'animal',
  IsIntrusion: 'intrusion',
  IsLineCross: 'line',
  IsTamper: 'tamper',
};
const tapo = (topic: string, detection: DetectionClass): TopicRow => ({
  topic,
  kind: 'state',
  detection,
  byData: tapoData,
  ...lasting,
});

const vendors: readonly TopicRow[] = [
  // TP-Link Tapo and VIGI: one topic carries several classes, the data name tells which.
  tapo('RuleEngine/CellMotionDetector/People', 'person'),
  tapo('RuleEngine/PeopleDetector/People', 'person'),
  tapo('RuleEngine/CellMotionDetector/Intrusion', 'intrusion'),
  tapo('RuleEngine/CellMotionDetector/LineCross', 'line'),
  tapo('RuleEngine/LineCrossDetector/LineCross', 'line'),
  tapo('RuleEngine/CellMotionDetector/Tamper', 'tamper'),
  tapo('RuleEngine/CellMotionDetector/TpSmartEvent', 'motion'),
  tapo('RuleEngine/TPSmartEventDetector/TPSmartEvent', 'motion'),
  // Reolink
  state('RuleEngine/MyRuleDetector/PeopleDetect', 'person', 'State', lasting),
  state('RuleEngine/MyRuleDetector/VehicleDetect', 'vehicle', 'State', lasting),
  state('RuleEngine/MyRuleDetector/DogCatDetect', 'animal', 'State', lasting),
  state('RuleEngine/MyRuleDetector/FaceDetect', 'face', 'State', lasting),
  state('RuleEngine/MyRuleDetector/Visitor', 'doorbell', 'State', shortly),
  state('RuleEngine/MyRuleDetector/Package', 'package', 'State', lasting),
  // Dahua
  state('UserAlarm/IVA/HumanShapeDetect', 'person', 'State', lasting),
  // Hikvision
  state('VideoSource/?:SignalStandardMismatch', 'video_loss', 'State'),
  // Axis
  state('tnsaxis:CameraApplicationPlatform/VMD/*', 'motion', 'active', lasting),
  state('tnsaxis:CameraApplicationPlatform/MotionGuard/*', 'motion', 'active', lasting),
  state('tnsaxis:CameraApplicationPlatform/FenceGuard/*', 'line', 'active', lasting),
  state('tnsaxis:CameraApplicationPlatform/LoiteringGuard/*', 'loitering', 'active', lasting),
  state('tnsaxis:CameraApplicationPlatform/ObjectAnalytics/*', 'intrusion', 'active', {
    byValue: { item: 'classTypes', classes: objectClasses },
    ...lasting,
  }),
  state('RuleEngine/tnsaxis:VMD3/*', 'motion', 'active', lasting),
  state('VideoAnalytics/tnsaxis:MotionDetection', 'motion', 'motion', lasting),
  state('Device/tnsaxis:IO/Port', 'input', 'state', { token: ['port'] }),
  state('Device/tnsaxis:IO/VirtualInput', 'input', 'active state', { token: ['port'] }),
  state('Device/tnsaxis:IO/SupervisedPort', 'input', 'state', { token: ['port'] }),
  state('Device/tnsaxis:IO/OutputPort', 'relay', 'state active', { token: ['port'] }),
  state('Device/tnsaxis:Sensor/PIR', 'input', 'state', { token: ['sensor'] }),
  state('AudioSource/tnsaxis:TriggerLevel', 'sound', 'triggered', shortly),
  pulse('VideoSource/tnsaxis:Tampering', 'tamper'),
  pulse('Device/tnsaxis:Tampering/ShockDetected', 'tamper'),
  state('Device/tnsaxis:Casing/Open', 'tamper', 'Open'),
  state('Device/tnsaxis:Network/Lost', 'network_fault', 'lost', { token: ['interface'] }),
  ignored('Device/tnsaxis:Network/*'),
  ignored('Device/tnsaxis:Status/**'),
  ignored('Device/tnsaxis:Light/Status'),
  ignored('LightControl/**'),
  ignored('PTZController/**'),
  ignored('VideoSource/tnsaxis:DayNightVision'),
  state('tnsaxis:Storage/Alert', 'storage_fault', 'alert', { token: ['disk_id'] }),
  state('tnsaxis:Storage/Disruption', 'storage_fault', 'disruption', { token: ['disk_id'] }),
  // Bosch: the rule's name is part of the topic.
  state('IVA/**', 'intrusion', 'State', lasting),
  state('RuleEngine/?:IVA/**', 'intrusion', 'State', lasting),
  // Pelco
  pulse('RuleEngine/AbandonedObject/Triggered', 'object_left'),
  pulse('RuleEngine/AdaptiveMotion/Triggered', 'motion'),
  pulse('RuleEngine/CameraSabotage/Triggered', 'tamper'),
  pulse('RuleEngine/DirectionalMotion/Triggered', 'line'),
  pulse('RuleEngine/LoiteringDetection/Triggered', 'loitering'),
  pulse('RuleEngine/ObjectRemoval/Triggered', 'object_removed'),
  pulse('RuleEngine/StoppedVehicle/Triggered', 'vehicle'),
  ignored('RuleEngine/ObjectCounting/*'),
  // Samsung, Hanwha, Mobotix, Ajax
  state('VideoAnalytics/?:MotionDetection', 'motion', 'State', lasting),
  pulse('VideoSource/Alarm', 'doorbell'),
  state('RuleEngine/?:MotionDetector/Detection', 'motion', 'Detected', lasting),
  pulse('RuleEngine/?:LineDetector/Crossing', 'line'),
  pulse('RuleEngine/?:ObjectDetector/Detection', 'intrusion'),
];

export const topicTable: readonly TopicRow[] = [...core, ...vendors];

/** The row of a normalised topic; undefined for a topic the table does not know. */
export function findTopic(topic: string, table: readonly TopicRow[] = topicTable): TopicRow | undefined {
  const segments = topic.split('/');
  return table.find((row) => matches(row.topic.split('/'), segments));
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const open = pattern.at(-1) === '**';
  if (open ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  const fixed = open ? pattern.slice(0, -1) : pattern;
  return fixed.every((part, at) => matchesSegment(part, segments[at] ?? ''));
}

function matchesSegment(part: string, segment: string): boolean {
  if (part === '*') return true;
  if (part.startsWith('?:')) return segment.slice(segment.indexOf(':') + 1) === part.slice(2) && segment.includes(':');
  return part === segment;
}
