// Fires the end events of CSS animations and transitions, by the fake clock.
(function (drrn) {
  "use strict";

  const kinds = {
    animationend: {
      duration: "animation-duration",
      delay: "animation-delay",
      createEvent: () => new AnimationEvent("animationend", { bubbles: true }),
    },
    transitionend: {
      duration: "transition-duration",
      delay: "transition-delay",
      createEvent: () => new TransitionEvent("transitionend", { bubbles: true }),
    },
  };

  /** Duration of an element's animation or transition in milliseconds; 0 if it has none. */
  function durationOf(element, kind) {
    const style = getComputedStyle(element);
    const duration = drrn.longestTime(style.getPropertyValue(kind.duration));
    return duration > 0 ? duration + drrn.longestTime(style.getPropertyValue(kind.delay)) : 0;
  }

  /** A listener for an end event shows that an element will move. */
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addEventListener(type, callback, options) {
    add.call(this, type, callback, options);
    const kind = Object.hasOwn(kinds, type) ? kinds[type] : null;
    if (!kind || !this || this.nodeType !== 1) return;
    drrn.clock.later(16, () => {
      const moving = [this, ...drrn.descendants(this)].find((element) =>
        element.isConnected && durationOf(element, kind) > 0,
      );
      if (moving) {
        drrn.clock.later(durationOf(moving, kind), () =>
          moving.isConnected && moving.dispatchEvent(kind.createEvent()),
        );
      }
    });
  };
})(globalThis.__drrn);
