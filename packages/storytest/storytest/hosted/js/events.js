// Events: targets, listeners, and dispatch by capture, target and bubbling.
(function (drrn) {
  "use strict";

  /** Events have the time of the fake clock, once it exists. */
  const timeStamp = () => (typeof performance === "object" ? performance.now() : 0);

  class Event {
    constructor(type, init) {
      this.type = String(type);
      this.bubbles = !!(init && init.bubbles);
      this.cancelable = !!(init && init.cancelable);
      this.composed = !!(init && init.composed);
      this.target = null;
      this.currentTarget = null;
      this.srcElement = null;
      this.eventPhase = 0;
      this.defaultPrevented = false;
      this.isTrusted = false;
      this.timeStamp = timeStamp();
      this.stopLevel = 0; // 1: no further targets; 2: no further listeners either
      this.passive = false;
      this.path = null;
    }
    preventDefault() {
      if (this.cancelable && !this.passive) this.defaultPrevented = true;
    }
    stopPropagation() {
      this.stopLevel = Math.max(this.stopLevel, 1);
    }
    stopImmediatePropagation() {
      this.stopLevel = 2;
    }
    composedPath() {
      return this.path ? this.path.slice() : [];
    }
    initEvent(type, bubbles, cancelable) {
      this.type = String(type);
      this.bubbles = !!bubbles;
      this.cancelable = !!cancelable;
    }
    get returnValue() {
      return !this.defaultPrevented;
    }
    set returnValue(value) {
      if (!value) this.preventDefault();
    }
    get cancelBubble() {
      return this.stopLevel > 0;
    }
    set cancelBubble(value) {
      if (value) this.stopPropagation();
    }
  }
  Object.assign(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });
  Object.assign(Event.prototype, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });

  /** An Event class whose additional fields, with defaults, come from its init dictionary. */
  function eventClass(name, parent, fields) {
    const Class = {
      [name]: class extends parent {
        constructor(type, init) {
          super(type, init);
          for (const key in fields) {
            this[key] = init && init[key] !== undefined ? init[key] : fields[key];
          }
        }
      },
    }[name];
    drrn.expose(name, Class);
    return Class;
  }

  drrn.expose("Event", Event);
  const CustomEvent = eventClass("CustomEvent", Event, { detail: null });
  CustomEvent.prototype.initCustomEvent = function (type, bubbles, cancelable, detail) {
    this.initEvent(type, bubbles, cancelable);
    this.detail = detail;
  };
  const UIEvent = eventClass("UIEvent", Event, { view: null, detail: 0, which: 0 });
  const modifiers = { ctrlKey: false, shiftKey: false, altKey: false, metaKey: false };
  const coordinates = {
    screenX: 0, screenY: 0, clientX: 0, clientY: 0, pageX: 0, pageY: 0, offsetX: 0, offsetY: 0,
  };
  const MouseEvent = eventClass("MouseEvent", UIEvent, {
    ...coordinates, ...modifiers, x: 0, y: 0, button: 0, buttons: 0, relatedTarget: null, movementX: 0, movementY: 0,
  });
  MouseEvent.prototype.initMouseEvent = function (type, bubbles, cancelable) {
    this.initEvent(type, bubbles, cancelable);
  };
  eventClass("PointerEvent", MouseEvent, {
    pointerId: 0, width: 1, height: 1, pressure: 0, pointerType: "", isPrimary: false,
  });
  eventClass("WheelEvent", MouseEvent, { deltaX: 0, deltaY: 0, deltaZ: 0, deltaMode: 0 });
  eventClass("DragEvent", MouseEvent, { dataTransfer: null });
  const keys = {
    key: "", code: "", location: 0, repeat: false, isComposing: false, charCode: 0, keyCode: 0,
  };
  eventClass("KeyboardEvent", UIEvent, { ...keys, ...modifiers });
  eventClass("FocusEvent", UIEvent, { relatedTarget: null });
  eventClass("InputEvent", UIEvent, { data: null, inputType: "", isComposing: false });
  eventClass("TouchEvent", UIEvent, { touches: [], targetTouches: [], changedTouches: [] });
  eventClass("HashChangeEvent", Event, { oldURL: "", newURL: "" });
  eventClass("PopStateEvent", Event, { state: null });
  eventClass("ErrorEvent", Event, { message: "", filename: "", lineno: 0, colno: 0, error: null });
  eventClass("AnimationEvent", Event, { animationName: "", elapsedTime: 0, pseudoElement: "" });
  eventClass("TransitionEvent", Event, { propertyName: "", elapsedTime: 0, pseudoElement: "" });
  eventClass("ProgressEvent", Event, { lengthComputable: false, loaded: 0, total: 0 });
  eventClass("MessageEvent", Event, { data: null, origin: "", source: null, ports: [] });
  eventClass("StorageEvent", Event, {
    key: null,
    oldValue: null,
    newValue: null,
    url: "",
    storageArea: null,
  });
  eventClass("SubmitEvent", Event, { submitter: null });
  eventClass("PageTransitionEvent", Event, { persisted: false });
  eventClass("BeforeUnloadEvent", Event, {});
  eventClass("PromiseRejectionEvent", Event, { promise: null, reason: undefined });

  class EventTarget {
    constructor() {
      this.listenerMap = null; // type → [{callback, capture, once, passive, removed}]
      this.handlerMap = null; // type → function, or the source text of an on… attribute
    }
    addEventListener(type, callback, options) {
      if (!callback) return;
      const self = this ?? globalThis;
      const settings = typeof options === "object" && options ? options : { capture: !!options };
      if (settings.signal && settings.signal.aborted) return;
      self.listenerMap ??= new Map();
      let list = self.listenerMap.get(type);
      if (!list) self.listenerMap.set((type = String(type)), (list = []));
      const capture = !!settings.capture;
      for (const listener of list) {
        if (listener.callback === callback && listener.capture === capture) return;
      }
      list.push({
        callback,
        capture,
        once: !!settings.once,
        passive: !!settings.passive,
        removed: false,
      });
      if (settings.signal) {
        settings.signal.addEventListener("abort", () =>
          self.removeEventListener(type, callback, capture),
        );
      }
    }
    removeEventListener(type, callback, options) {
      const self = this ?? globalThis;
      const list = self.listenerMap && self.listenerMap.get(String(type));
      if (!list) return;
      const capture = typeof options === "object" && options ? !!options.capture : !!options;
      const index = list.findIndex((listener) =>
        listener.callback === callback && listener.capture === capture,
      );
      if (index >= 0) list.splice(index, 1)[0].removed = true;
    }
    dispatchEvent(event) {
      return dispatch(this ?? globalThis, event);
    }
  }
  drrn.expose("EventTarget", EventTarget);

  /** Convert any value to text, even one whose conversion throws. */
  drrn.describe = function (value) {
    try {
      return String(value);
    } catch {
      return "something without words";
    }
  };

  /** Report an uncaught error to the window's "error" listeners; it stops nothing else. */
  drrn.report = drrn.uncaught = function (error) {
    try {
      const message = "Uncaught " +
        (error instanceof Error ? `${error.name}: ${error.message}` : drrn.describe(error));
      const event = new ErrorEvent("error", { message, error, cancelable: true });
      const handler = globalThis.handlerMap && globalThis.handlerMap.error;
      if (handler) handler.call(globalThis, message, "", 0, 0, error);
      dispatch(globalThis, event, true);
    } catch {
      // an error handler that throws is ignored
    }
  };

  function callHandler(node, event) {
    let handler = node.handlerMap[event.type];
    if (typeof handler === "string") {
      handler = node.handlerMap[event.type] = drrn.compileHandler(node, handler);
    }
    if (typeof handler !== "function") return;
    try {
      if (handler.call(node, event) === false) event.preventDefault();
    } catch (error) {
      drrn.report(error);
    }
  }

  function callListeners(node, event, phase, withoutHandler) {
    event.currentTarget = node;
    event.eventPhase = phase;
    if (node.handlerMap && phase !== 1 && !withoutHandler) callHandler(node, event);
    const list = node.listenerMap && node.listenerMap.get(event.type);
    if (!list || !list.length) return;
    for (const listener of list.slice()) {
      if (event.stopLevel === 2) return;
      if (
        listener.removed ||
        (phase === 1 && !listener.capture) ||
        (phase === 3 && listener.capture)
      ) {
        continue;
      }
      if (listener.once) node.removeEventListener(event.type, listener.callback, listener.capture);
      event.passive = listener.passive;
      try {
        if (typeof listener.callback === "function") listener.callback.call(node, event);
        else listener.callback.handleEvent(event);
      } catch (error) {
        drrn.report(error);
      }
      event.passive = false;
    }
  }

  /** The targets from the element to the window; "load" does not bubble to the window. */
  function pathOf(target, event) {
    const path = [target];
    let node = target.parentNode;
    for (; node; node = node.parentNode) path.push(node);
    if (path[path.length - 1] === globalThis.document && event.type !== "load") {
      path.push(globalThis);
    }
    return path;
  }

  function dispatch(target, event, withoutHandler = false) {
    const path = (event.path = pathOf(target, event));
    event.target = event.srcElement = target;
    event.stopLevel = 0;
    const before = globalThis.event;
    globalThis.event = event;
    for (let i = path.length - 1; i > 0 && !event.stopLevel; i--) {
      if (path[i].listenerMap) callListeners(path[i], event, 1, withoutHandler);
    }
    for (let i = 0; i < path.length && !event.stopLevel; i++) {
      if (i > 0 && !event.bubbles) break;
      callListeners(path[i], event, i === 0 ? 2 : 3, withoutHandler);
    }
    event.eventPhase = 0;
    event.currentTarget = null;
    globalThis.event = before;
    return !event.defaultPrevented;
  }
  drrn.dispatch = dispatch;

  drrn.handlerNames =
    ("abort animationend animationiteration animationstart auxclick beforeinput beforeunload blur cancel canplay canplaythrough " +
      "change click close contextmenu cuechange dblclick drag dragend dragenter dragleave dragover dragstart drop durationchange " +
      "emptied ended error focus focusin focusout hashchange input invalid keydown keypress keyup load loadeddata loadedmetadata " +
      "loadstart message mousedown mouseenter mouseleave mousemove mouseout mouseover mouseup pagehide pageshow pause play playing " +
      "pointerdown pointermove pointerup popstate progress ratechange readystatechange reset resize scroll seeked seeking select " +
      "storage submit suspend timeupdate toggle touchcancel touchend touchmove touchstart transitionend unload volumechange waiting " +
      "wheel").split(" ");

  /** The on… properties (onclick and the like) of a prototype or of the window. */
  drrn.defineHandlers = function (prototype) {
    for (const type of drrn.handlerNames) {
      Object.defineProperty(prototype, "on" + type, {
        configurable: true,
        enumerable: true,
        get() {
          const self = this ?? globalThis;
          const handler = self.handlerMap && self.handlerMap[type];
          if (typeof handler !== "string") return handler || null;
          return (self.handlerMap[type] = drrn.compileHandler(self, handler));
        },
        set(value) {
          const self = this ?? globalThis;
          self.handlerMap ??= {};
          self.handlerMap[type] = typeof value === "function" ? value : null;
        },
      });
    }
  };

  class AbortSignal extends EventTarget {
    constructor() {
      super();
      this.aborted = false;
      this.reason = undefined;
    }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
  }
  class AbortController {
    constructor() {
      this.signal = new AbortSignal();
    }
    abort(reason) {
      if (this.signal.aborted) return;
      this.signal.aborted = true;
      this.signal.reason = reason ?? new DOMException("The operation was aborted.", "AbortError");
      this.signal.dispatchEvent(new Event("abort"));
    }
  }
  drrn.expose("AbortSignal", AbortSignal);
  drrn.expose("AbortController", AbortController);
})(globalThis.__drrn);
