/**
 * crawler4j. Bare: politenessDelay, robots.txt on, four threads.
 * https://github.com/yasserg/crawler4j#configuration-details
 * Behind a proxy: setProxyHost and setProxyPort, and no politenessDelay.
 * It does not check the certificates of sites, bare and behind a proxy. Its list of top-level domains is not asked for anew.
 * Usage: Crawler4j FILE-OF-URLS, with PEER_DELAY_MS and PEER_FOLDER
 */
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import edu.uci.ics.crawler4j.crawler.CrawlConfig;
import edu.uci.ics.crawler4j.crawler.CrawlController;
import edu.uci.ics.crawler4j.crawler.Page;
import edu.uci.ics.crawler4j.crawler.WebCrawler;
import edu.uci.ics.crawler4j.fetcher.PageFetcher;
import edu.uci.ics.crawler4j.robotstxt.RobotstxtConfig;
import edu.uci.ics.crawler4j.robotstxt.RobotstxtServer;
import edu.uci.ics.crawler4j.url.WebURL;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.LoggerFactory;

public class Crawler4j {
  public static class Visitor extends WebCrawler {
    @Override
    public boolean shouldVisit(Page from, WebURL url) {
      return true;
    }
  }

  public static void main(String[] args) throws Exception {
    ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
    String proxy = System.getenv("http_proxy");
    CrawlConfig config = new CrawlConfig();
    config.setCrawlStorageFolder(System.getenv("PEER_FOLDER"));
    config.setUserAgentString("peerbot/1 (+https://example.com/bot)");
    config.setPolitenessDelay(proxy == null ? Integer.parseInt(System.getenv("PEER_DELAY_MS")) : 0);
    config.setIncludeHttpsPages(true);
    config.setOnlineTldListUpdate(false);
    config.setThreadMonitoringDelaySeconds(1);
    config.setThreadShutdownDelaySeconds(1);
    config.setCleanupDelaySeconds(1);
    if (proxy != null) {
      config.setProxyHost(URI.create(proxy).getHost());
      config.setProxyPort(URI.create(proxy).getPort());
    }
    PageFetcher fetcher = new PageFetcher(config);
    RobotstxtConfig robots = new RobotstxtConfig();
    robots.setUserAgentName("peerbot");
    CrawlController controller = new CrawlController(config, fetcher, new RobotstxtServer(robots, fetcher));
    // A seed's robots.txt is asked for as it is added, by this thread alone
    for (String url : Files.readAllLines(Path.of(args[0]))) controller.addSeed(url);
    controller.start(Visitor.class, 4);
    System.exit(0);
  }
}
