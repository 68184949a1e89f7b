// Stubs for sounds, pictures, canvas and the network; crypto draws from the seeded Math.random.
(function (drrn) {
  "use strict";
  const make = drrn.elementClass;
  const later = (act) => drrn.clock.later(0, act);

  const image = make("HTMLImageElement", "img", {
    get complete() {
      return true;
    },
    get naturalWidth() {
      return 0;
    },
    get naturalHeight() {
      return 0;
    },
    decode() {
      return Promise.reject(
        new DOMException("The source image cannot be decoded.", "EncodingError"),
      );
    },
    /** No picture is ever loaded; the page gets an error event, as for a broken address. */
    applyAttribute(key, old, value) {
      Element.prototype.applyAttribute.call(this, key, old, value);
      if (key === "src" && value) later(() => this.dispatchEvent(new Event("error")));
    },
  });
  drrn.mirror(image.prototype, "alt srcset sizes name useMap loading decoding crossOrigin");
  drrn.mirror(image.prototype, "src", "address");
  drrn.mirror(image.prototype, "width height", "number");
  drrn.expose("Image", function Image(width, height) {
    const element = globalThis.document.createElement("img");
    if (width !== undefined) element.width = width;
    if (height !== undefined) element.height = height;
    return element;
  });

  const media = make("HTMLMediaElement", "", {
    play() {
      return Promise.reject(
        new DOMException("The element has no supported sources.", "NotSupportedError"),
      );
    },
    pause() {},
    load() {
      later(() => this.dispatchEvent(new Event("error")));
    },
    canPlayType() {
      return "";
    },
    addTextTrack() {
      return Object.assign(new EventTarget(), {
        cues: [],
        activeCues: [],
        mode: "disabled",
        addCue() {},
        removeCue() {},
      });
    },
    get textTracks() {
      return Object.assign([], { addEventListener() {}, removeEventListener() {} });
    },
    get buffered() {
      return { length: 0, start: () => 0, end: () => 0 };
    },
  });
  Object.assign(media.prototype, {
    paused: true, ended: false, duration: NaN, currentTime: 0, volume: 1, muted: false, readyState: 0, networkState: 3, error: null,
    playbackRate: 1, currentSrc: "", seeking: false, HAVE_NOTHING: 0, HAVE_METADATA: 1, HAVE_CURRENT_DATA: 2, HAVE_FUTURE_DATA: 3, HAVE_ENOUGH_DATA: 4,
    NETWORK_EMPTY: 0, NETWORK_IDLE: 1, NETWORK_LOADING: 2, NETWORK_NO_SOURCE: 3,
  });
  drrn.mirror(media.prototype, "src", "address");
  drrn.mirror(media.prototype, "preload crossOrigin");
  drrn.mirror(media.prototype, "loop autoplay controls", "flag");
  make("HTMLAudioElement", "audio", {}, media);
  make("HTMLVideoElement", "video", {}, media);
  make("HTMLSourceElement", "source");
  drrn.mirror(HTMLSourceElement.prototype, "src type media");
  make("HTMLTrackElement", "track");
  drrn.expose("VTTCue", class VTTCue extends EventTarget {
    constructor(startTime, endTime, text) {
      super();
      Object.assign(this, { startTime, endTime, text });
    }
  });
  make("HTMLIFrameElement", "iframe", {
    get contentWindow() { return null; },
    get contentDocument() { return null; },
  });
  drrn.mirror(HTMLIFrameElement.prototype, "src", "address");
  drrn.expose("Audio", function Audio(address) {
    const element = globalThis.document.createElement("audio");
    if (address !== undefined) element.src = address;
    return element;
  });

  /** A drawing context that ignores every call. */
  const ignore = () => undefined;
  const drawing = (canvas) => new Proxy({ canvas }, {
    get(target, name) {
      if (name in target) return target[name];
      if (name === "measureText") return (text) => ({ width: 8 * String(text).length });
      if (name === "getImageData" || name === "createImageData") {
        return () => ({ data: new Uint8ClampedArray(4), width: 1, height: 1 });
      }
      if (/^create/.test(String(name))) return () => ({ addColorStop: ignore });
      return ignore;
    },
  });
  make("HTMLCanvasElement", "canvas", {
    getContext(kind) {
      return kind === "2d" ? (this.context ??= drawing(this)) : null;
    },
    toDataURL() {
      return "data:,";
    },
    toBlob(callback) {
      later(() => callback(null));
    },
  });
  drrn.mirror(HTMLCanvasElement.prototype, "width height", "number", 300);

  drrn.expose("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  class XMLHttpRequest extends EventTarget {
    constructor() {
      super();
      Object.assign(this, {
        readyState: 0,
        status: 0,
        statusText: "",
        response: "",
        responseText: "",
        responseXML: null,
        upload: new EventTarget(),
        timeout: 0,
      });
    }
    open() {
      this.readyState = 1;
    }
    setRequestHeader() {}
    overrideMimeType() {}
    getResponseHeader() {
      return null;
    }
    getAllResponseHeaders() {
      return "";
    }
    abort() {}
    send() {
      later(() => {
        this.readyState = 4;
        for (const type of ["readystatechange", "error", "loadend"]) {
          this.dispatchEvent(new ProgressEvent(type));
        }
      });
    }
  }
  Object.assign(XMLHttpRequest.prototype, {
    UNSENT: 0, OPENED: 1, HEADERS_RECEIVED: 2, LOADING: 3, DONE: 4, withCredentials: false,
  });
  drrn.defineHandlers(XMLHttpRequest.prototype);
  Object.defineProperty(XMLHttpRequest.prototype, "onloadend", { writable: true, value: null });
  drrn.expose("XMLHttpRequest", XMLHttpRequest);
  for (const name of [
    "WebSocket", "EventSource", "Worker", "SharedWorker", "RTCPeerConnection", "BroadcastChannel",
  ]) {
    drrn.expose(name, function () {
      throw new DOMException(`${name} is not available.`, "SecurityError");
    });
  }

  /** Web animations end as soon as the clock moves. */
  drrn.animation = function (element) {
    const animation = Object.assign(new EventTarget(), {
      effect: { target: element },
      playState: "running",
      currentTime: 0,
      onfinish: null,
    });
    animation.finished = new Promise((resolve) => {
      later(() => {
        animation.playState = "finished";
        if (animation.onfinish) animation.onfinish(new Event("finish"));
        animation.dispatchEvent(new Event("finish"));
        resolve(animation);
      });
    });
    for (const name of [
      "play", "pause", "cancel", "finish", "reverse", "commitStyles", "updatePlaybackRate",
    ]) {
      animation[name] = () => undefined;
    }
    return animation;
  };

  drrn.expose("crypto", {
    getRandomValues(array) {
      for (let i = 0; i < array.length; i++) array[i] = Math.floor(Math.random() * 4294967296);
      return array;
    },
    randomUUID: () =>
      "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) =>
        (Number(digit) ^ ((Math.random() * 16) >> (Number(digit) / 4))).toString(16),
      ),
  });

  class Blob {
    constructor(parts = [], options = {}) {
      this.parts = parts;
      this.type = options.type ?? "";
      this.size = parts.reduce((sum, part) => sum + (part.length ?? part.size ?? 0), 0);
    }
    text() {
      return Promise.resolve(this.parts.join(""));
    }
    slice() {
      return this;
    }
  }
  drrn.expose("Blob", Blob);
  drrn.expose("File", class File extends Blob {});
  // SugarCube offers to save to disk if all of these exist.
  drrn.expose("FileList", class FileList {});
  class FileReader extends EventTarget {
    readAsText() {
      later(() => this.dispatchEvent(new Event("error")));
    }
  }
  FileReader.prototype.readAsDataURL =
    FileReader.prototype.readAsArrayBuffer = FileReader.prototype.readAsText;
  drrn.defineHandlers(FileReader.prototype);
  drrn.expose("FileReader", FileReader);
  drrn.expose("FormData", class FormData extends URLSearchParams {
    constructor(form) {
      super(
        [...(form ? form.elements : [])]
          .filter((each) => each.name && (!/^(?:checkbox|radio)$/.test(each.type) || each.checked))
          .map((each) => [each.name, each.value]),
      );
    }
  });
  drrn.expose(
    "console",
    Object.fromEntries(
      "log info warn error debug trace group groupCollapsed groupEnd table time timeEnd timeLog assert count dir clear"
        .split(" ")
        .map((name) => [name, () => undefined]),
    ),
  );
})(globalThis.__drrn);
