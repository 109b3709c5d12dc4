// Applies the stored theme before the first paint; a classic script so that nothing flashes.
(function () {
  var root = document.documentElement;
  try {
    var stored = localStorage.getItem("prosa-theme");
    if (stored) root.dataset.theme = stored;
  } catch (_) { /* storage refused: the system's theme it is */ }
  addEventListener("DOMContentLoaded", function () {
    document.getElementById("theme").addEventListener("click", function () {
      var dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("prosa-theme", root.dataset.theme); } catch (_) { /* only for this visit */ }
    });
  });
})();
