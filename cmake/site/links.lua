-- Links to Markdown files lead to their pages; tables may be wider than the text.
function Link(link)
  if link.target:match("^%a+:") then return nil end
  link.target = link.target:gsub("README%.md", "index.html"):gsub("%.md$", ".html"):gsub("%.md#", ".html#")
  return link
end

function Table(table)
  return pandoc.Div({table}, {class = "wide"})
end
