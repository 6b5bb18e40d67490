// A figure's drawing as part of a page: its SVG without what makes it a file of its own, with
// colours that follow the page's, and marks that say which encoding each line belongs to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure.h"

namespace pesuite {

// Colours of a page as custom properties of CSS, light and dark: greys by their lightness, and of
// each encoding its colour and a faint one.
class PageColours {
 public:
  // The encodings of all figures of a page; the first of an id says its colour.
  explicit PageColours(const std::vector<const Figure*>&);

  const std::vector<Series>& series() const { return series_; }
  // Running number of the encoding with this name, or of whose row it is ("rope (1 of 3
  // diverged)"); -1: of none.
  int encoding(std::string_view text) const;

  // The drawing that gnuplot made, for a page. `title` and `about` are read to those who do not see
  // it.
  std::string drawing(const std::string& svg, const Figure&);
  // The symbols of points, which all drawings share; after the last drawing.
  const std::string& symbols() const { return symbols_; }
  // Rules for :root, in light and in dark; after the last drawing.
  std::string rules(bool dark) const;

 private:
  struct Drawn {
    std::string value;  // for CSS; "": as it was
    int encoding = -1;
    bool faint = false;
  };
  Drawn colour(std::string_view written, const Figure&);
  std::string tag(std::string_view, const Figure&);
  int speaker(std::string_view svg) const;

  std::vector<Series> series_;
  std::map<int, bool> greys_;
  std::string symbols_;
};

}  // namespace pesuite
